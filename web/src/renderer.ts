// Draws nodes and edges by WebGL2.
//
// A texture holds the predictions and confidences of all times, so that the time is a uniform.
// Edges are drawn to a texture of their own, only when the camera rests: while it moves, that
// texture is moved with it.

import { nodeRadius, scaleOf, type Viewport } from "./camera";
import { type Category, type Colour, categories, maxDegree, ramp, type Theme } from "./colours";
import { type Data, NO_CLASS } from "./data";
import { type Camera, MODES, type State } from "./state";

const TEXTURE_WIDTH = 2048;
/** Milliseconds without movement after which edges are drawn anew. */
const REST = 90;

const NODE_VERTEX = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;
precision highp sampler2D;
in vec2 position;
in uvec4 node; // true class, part, degree from 0 to 255
uniform usampler2D frames;
uniform sampler2D palette;
uniform vec2 centre, scale;
uniform float size;
uniform int frame, count, mode, classes;
out vec4 colour;
out float radius;
void main() {
  gl_Position = vec4((position - centre) * scale, 0.0, 1.0);
  int at = frame * count + gl_VertexID;
  uvec2 found = texelFetch(frames, ivec2(at % ${TEXTURE_WIDTH}, at / ${TEXTURE_WIDTH}), 0).rg;
  int predicted = int(found.r), truth = int(node.r), place;
  bool labelled = truth != ${NO_CLASS};
  float opacity = 1.0;
  if (mode == 0) { place = predicted; opacity = 0.3 + 0.7 * float(found.g) / 255.0; }
  else if (mode == 1) place = labelled ? truth : classes;
  else if (mode == 2) place = int(found.g);
  else if (mode == 3) place = labelled ? (truth == predicted ? 0 : 1) : 2;
  else if (mode == 4) place = int(node.g);
  else place = int(node.b);
  vec4 own = texelFetch(palette, ivec2(place, 0), 0);
  colour = vec4(mix(texelFetch(palette, ivec2(0, 1), 0).rgb, own.rgb, opacity), own.a);
  bool wrong = mode == 3 && place == 1;
  radius = size * (0.75 + 0.9 * float(node.b) / 255.0) * (wrong ? 1.25 : 1.0);
  gl_PointSize = own.a == 0.0 ? 0.0 : 2.0 * radius + 2.0;
  if (own.a == 0.0) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
}`;

const NODE_FRAGMENT = `#version 300 es
precision highp float;
precision highp sampler2D;
in vec4 colour;
in float radius;
uniform sampler2D palette;
out vec4 result;
void main() {
  float distance = length(gl_PointCoord - 0.5) * (2.0 * radius + 2.0);
  float cover = clamp(radius + 0.5 - distance, 0.0, 1.0);
  if (cover == 0.0) discard;
  // A thin border in the colour of the background tells nodes apart that overlap.
  float border = radius > 2.5 ? clamp(distance - radius + 1.2, 0.0, 1.0) * 0.8 : 0.0;
  result = vec4(mix(colour.rgb, texelFetch(palette, ivec2(0, 1), 0).rgb, border), 1.0) * cover;
}`;

const EDGE_VERTEX = `#version 300 es
precision highp float;
in vec2 position;
uniform vec2 centre, scale;
void main() { gl_Position = vec4((position - centre) * scale, 0.0, 1.0); }`;

const EDGE_FRAGMENT = `#version 300 es
precision highp float;
uniform vec4 line;
out vec4 result;
void main() { result = line; }`;

const IMAGE_VERTEX = `#version 300 es
precision highp float;
uniform vec2 shift;
uniform float grow;
out vec2 place;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  place = corner;
  gl_Position = vec4((corner * 2.0 - 1.0) * grow + shift, 0.0, 1.0);
}`;

const IMAGE_FRAGMENT = `#version 300 es
precision highp float;
precision highp sampler2D;
uniform sampler2D image;
in vec2 place;
out vec4 result;
void main() { result = texture(image, place); }`;

export class Renderer {
  private readonly gl: WebGL2RenderingContext;
  private readonly nodeProgram: WebGLProgram;
  private readonly edgeProgram: WebGLProgram;
  private readonly imageProgram: WebGLProgram;
  private readonly nodeArrays: WebGLVertexArrayObject;
  private readonly edgeArrays: WebGLVertexArrayObject;
  private readonly palette: WebGLTexture;
  private readonly frames: WebGLTexture;
  private edgeImage: { texture: WebGLTexture; target: WebGLFramebuffer } | null = null;
  private edgeCamera: Camera | null = null;
  private restTimer = 0;
  private readonly locations = new Map<string, WebGLUniformLocation | null>();

  /** Null if the browser has no WebGL2. */
  static create(canvas: HTMLCanvasElement, data: Data, redraw: () => void): Renderer | null {
    const gl = canvas.getContext("webgl2", {
      antialias: false, alpha: false, preserveDrawingBuffer: true,
    });
    return gl && new Renderer(gl, canvas, data, redraw);
  }

  private constructor(
    gl: WebGL2RenderingContext,
    private readonly canvas: HTMLCanvasElement,
    private readonly data: Data,
    private readonly redraw: () => void,
  ) {
    this.gl = gl;
    this.nodeProgram = program(gl, NODE_VERTEX, NODE_FRAGMENT);
    this.edgeProgram = program(gl, EDGE_VERTEX, EDGE_FRAGMENT);
    this.imageProgram = program(gl, IMAGE_VERTEX, IMAGE_FRAGMENT);
    const positions = buffer(gl, gl.ARRAY_BUFFER, data.positions);
    this.nodeArrays = gl.createVertexArray()!;
    gl.bindVertexArray(this.nodeArrays);
    attribute(gl, this.nodeProgram, "position", positions);
    buffer(gl, gl.ARRAY_BUFFER, nodeBytes(data));
    const at = gl.getAttribLocation(this.nodeProgram, "node");
    gl.enableVertexAttribArray(at);
    gl.vertexAttribIPointer(at, 4, gl.UNSIGNED_BYTE, 0, 0);
    this.edgeArrays = gl.createVertexArray()!;
    gl.bindVertexArray(this.edgeArrays);
    attribute(gl, this.edgeProgram, "position", positions);
    const ends = new Uint32Array(2 * data.edges.sources.length);
    data.edges.sources.forEach((i, e) => {
      ends[2 * e] = i;
      ends[2 * e + 1] = data.edges.targets[e];
    });
    buffer(gl, gl.ELEMENT_ARRAY_BUFFER, ends);
    gl.bindVertexArray(null);
    this.frames = texture(gl);
    const rows = Math.ceil((data.F * data.n) / TEXTURE_WIDTH);
    const pairs = new Uint8Array(2 * TEXTURE_WIDTH * rows);
    for (let i = 0; i < data.F * data.n; i++) {
      pairs[2 * i] = data.predictions[i];
      pairs[2 * i + 1] = data.confidences[i];
    }
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texImage2D(
      gl.TEXTURE_2D, 0, gl.RG8UI, TEXTURE_WIDTH, rows, 0, gl.RG_INTEGER, gl.UNSIGNED_BYTE, pairs,
    );
    this.palette = texture(gl);
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  }

  draw(state: State, theme: Theme, view: Viewport): void {
    const gl = this.gl;
    const ratio = this.canvas.width / view.width;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.drawEdgesIfNeeded(state, theme, view);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    const [r, g, b] = theme.background;
    gl.clearColor(r / 255, g / 255, b / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    this.drawImage(state.camera, view);
    gl.useProgram(this.nodeProgram);
    this.setPalette(state, theme);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.frames);
    gl.uniform1i(this.uniform(this.nodeProgram, "frames"), 1);
    this.setCamera(this.nodeProgram, state.camera, view);
    const size = nodeRadius(state.camera, view, this.data.n) * ratio;
    gl.uniform1f(this.uniform(this.nodeProgram, "size"), size);
    gl.uniform1i(this.uniform(this.nodeProgram, "frame"), state.frame);
    gl.uniform1i(this.uniform(this.nodeProgram, "count"), this.data.n);
    gl.uniform1i(this.uniform(this.nodeProgram, "mode"), MODES.indexOf(state.mode));
    gl.uniform1i(this.uniform(this.nodeProgram, "classes"), this.data.C);
    gl.bindVertexArray(this.nodeArrays);
    gl.drawArrays(gl.POINTS, 0, this.data.n);
    gl.bindVertexArray(null);
  }

  /** Forget the drawn edges: the size or the theme has changed. */
  invalidate(): void {
    this.edgeCamera = null;
    if (this.edgeImage) {
      this.gl.deleteTexture(this.edgeImage.texture);
      this.gl.deleteFramebuffer(this.edgeImage.target);
      this.edgeImage = null;
    }
  }

  private drawEdgesIfNeeded(state: State, theme: Theme, view: Viewport): void {
    const old = this.edgeCamera, camera = state.camera;
    if (old && old.x === camera.x && old.y === camera.y && old.zoom === camera.zoom) return;
    window.clearTimeout(this.restTimer);
    if (!old) {
      this.drawEdges(camera, theme, view);
      return;
    }
    this.restTimer = window.setTimeout(() => {
      this.drawEdges(camera, theme, view);
      this.redraw();
    }, REST);
  }

  private drawEdges(camera: Camera, theme: Theme, view: Viewport): void {
    const gl = this.gl;
    this.edgeImage ??= this.createEdgeImage();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.edgeImage.target);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.useProgram(this.edgeProgram);
    this.setCamera(this.edgeProgram, camera, view);
    const [r, g, b] = theme.soft;
    const alpha = edgeOpacity(this.data, camera);
    gl.uniform4f(
      this.uniform(this.edgeProgram, "line"),
      (r / 255) * alpha, (g / 255) * alpha, (b / 255) * alpha, alpha,
    );
    gl.bindVertexArray(this.edgeArrays);
    gl.drawElements(gl.LINES, 2 * this.data.edges.sources.length, gl.UNSIGNED_INT, 0);
    gl.bindVertexArray(null);
    this.edgeCamera = camera;
  }

  /** Put the drawn edges where the camera sees them now. */
  private drawImage(camera: Camera, view: Viewport): void {
    if (!this.edgeImage || !this.edgeCamera) return;
    const gl = this.gl;
    gl.useProgram(this.imageProgram);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.edgeImage.texture);
    gl.uniform1i(this.uniform(this.imageProgram, "image"), 0);
    const scale = scaleOf(camera, view), old = this.edgeCamera;
    gl.uniform1f(this.uniform(this.imageProgram, "grow"), camera.zoom / old.zoom);
    gl.uniform2f(
      this.uniform(this.imageProgram, "shift"),
      ((old.x - camera.x) * scale * 2) / view.width,
      ((old.y - camera.y) * scale * 2) / view.height,
    );
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  private createEdgeImage(): { texture: WebGLTexture; target: WebGLFramebuffer } {
    const gl = this.gl;
    const image = texture(gl);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, this.canvas.width, this.canvas.height);
    const target = gl.createFramebuffer()!;
    gl.bindFramebuffer(gl.FRAMEBUFFER, target);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, image, 0);
    return { texture: image, target };
  }

  /** The first row has the colours of the mode, those hidden transparent; the second the ground. */
  private setPalette(state: State, theme: Theme): void {
    const gl = this.gl;
    const bytes = new Uint8Array(2 * 4 * 256);
    const list: Category[] | null = categories(this.data, state.mode, theme);
    for (let at = 0; at < 256; at++) {
      const colour: Colour = list ? (list[at]?.colour ?? theme.soft) : ramp(at / 255);
      bytes.set([...colour, state.hidden.has(at) && list ? 0 : 255], 4 * at);
    }
    bytes.set([...theme.background, 255], 4 * 256);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.palette);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 2, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
    gl.uniform1i(this.uniform(this.nodeProgram, "palette"), 0);
  }

  private setCamera(into: WebGLProgram, camera: Camera, view: Viewport): void {
    const scale = scaleOf(camera, view);
    this.gl.uniform2f(this.uniform(into, "centre"), camera.x, camera.y);
    this.gl.uniform2f(
      this.uniform(into, "scale"), (2 * scale) / view.width, (2 * scale) / view.height,
    );
  }

  private uniform(of: WebGLProgram, name: string): WebGLUniformLocation | null {
    const programs = [this.nodeProgram, this.edgeProgram, this.imageProgram];
    const key = `${programs.indexOf(of)} ${name}`;
    if (!this.locations.has(key)) this.locations.set(key, this.gl.getUniformLocation(of, name));
    return this.locations.get(key)!;
  }
}

/** Many edges are thinner, and become clearer as one zooms in. */
export function edgeOpacity(data: Data, camera: Camera): number {
  const crowded = Math.sqrt(4000 / Math.max(data.edges.sources.length, 1));
  return Math.min(Math.max(0.3 * crowded * camera.zoom ** 0.5, 0.06), 0.45);
}

function nodeBytes(data: Data): Uint8Array {
  const bytes = new Uint8Array(4 * data.n);
  const most = Math.log1p(maxDegree(data));
  for (let i = 0; i < data.n; i++) {
    bytes[4 * i] = data.codes[i];
    bytes[4 * i + 1] = data.parts[i];
    bytes[4 * i + 2] = Math.round((255 * Math.log1p(data.degrees[i])) / most);
  }
  return bytes;
}

function program(gl: WebGL2RenderingContext, vertex: string, fragment: string): WebGLProgram {
  const made = gl.createProgram()!;
  for (const [kind, source] of [
    [gl.VERTEX_SHADER, vertex],
    [gl.FRAGMENT_SHADER, fragment],
  ] as [number, string][]) {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) {
      throw new Error(gl.getShaderInfoLog(shader) ?? "a shader does not compile");
    }
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) {
    throw new Error(gl.getProgramInfoLog(made) ?? "shaders do not link");
  }
  return made;
}

function buffer(gl: WebGL2RenderingContext, target: number, content: ArrayBufferView): WebGLBuffer {
  const made = gl.createBuffer()!;
  gl.bindBuffer(target, made);
  gl.bufferData(target, content, gl.STATIC_DRAW);
  return made;
}

function attribute(
  gl: WebGL2RenderingContext, of: WebGLProgram, name: string, from: WebGLBuffer,
): void {
  gl.bindBuffer(gl.ARRAY_BUFFER, from);
  const at = gl.getAttribLocation(of, name);
  gl.enableVertexAttribArray(at);
  gl.vertexAttribPointer(at, 2, gl.FLOAT, false, 0, 0);
}

function texture(gl: WebGL2RenderingContext): WebGLTexture {
  const made = gl.createTexture()!;
  gl.bindTexture(gl.TEXTURE_2D, made);
  for (const [key, value] of [
    [gl.TEXTURE_MIN_FILTER, gl.NEAREST],
    [gl.TEXTURE_MAG_FILTER, gl.NEAREST],
    [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE],
    [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
  ]) {
    gl.texParameteri(gl.TEXTURE_2D, key, value);
  }
  return made;
}
