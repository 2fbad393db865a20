// Bundles the page's script and style, and writes the checksum of their sources beside them.
// tests/explorer/test_assets.py computes the same checksum, so that a forgotten build is noticed.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const assets = join(here, "../src/heatgraph/explorer/assets");

await build({
  entryPoints: { explorer: join(here, "src/main.ts"), style: join(here, "src/style.css") },
  outdir: assets,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2020", "chrome90", "firefox90", "safari15"],
  charset: "ascii",
  banner: { js: "/* Includes fflate by Arjun Barrett, MIT licence: github.com/101arrowz/fflate */" },
  logLevel: "warning",
});

const digest = createHash("sha256");
const sources = readdirSync(join(here, "src")).map((name) => `src/${name}`);
for (const name of [...sources, "build.mjs", "package-lock.json"].sort()) {
  digest.update(name + "\0").update(readFileSync(join(here, name)));
}
writeFileSync(join(assets, "sources.sha256"), digest.digest("hex") + "\n");
