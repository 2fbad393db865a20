"""Arrays and JSON values as one text of base64, for a page without further files.

The bytes before compression are

    length of the header in bytes (uint32, little-endian) | header | arrays one after the other,

where the header is JSON: {"values": ..., "arrays": [{"name", "type", "length"}, ...]}. Bytes of an
array are shuffled, all first bytes before all second bytes and so on: small integers then have
planes of zeros, which compress to almost nothing. The whole is compressed by zlib. Base64 has no
character with a meaning in HTML, whatever the texts in the header are.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Types that JavaScript has arrays of.
TYPES = ("uint8", "uint16", "uint32", "int32", "float32")


def encode(values: Any, arrays: Mapping[str, Array]) -> str:
    """Encode JSON values and named arrays.

    Examples
    --------
    >>> values, arrays = decode(encode({"T": 5.3}, {"x": np.arange(3, dtype=np.uint16)}))
    >>> values, arrays["x"]
    ({'T': 5.3}, array([0, 1, 2], dtype=uint16))
    """
    entries, blocks = [], []
    for name, array in arrays.items():
        if array.dtype.name not in TYPES:
            raise TypeError(f"{name} is of {array.dtype}, and the page reads {', '.join(TYPES)}.")
        entries.append({"name": name, "type": array.dtype.name, "length": array.size})
        little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).reshape(-1, 1)
        blocks.append(little.view(np.uint8).T.tobytes())
    header = json.dumps({"values": values, "arrays": entries}, allow_nan=False).encode()
    content = b"".join([np.uint32(len(header)).astype("<u4").tobytes(), header, *blocks])
    return base64.b64encode(zlib.compress(content, 9)).decode()


def decode(text: str) -> tuple[Any, dict[str, Array]]:
    """The values and arrays of `encode`."""
    content = zlib.decompress(base64.b64decode(text))
    start = 4 + int.from_bytes(content[:4], "little")
    header = json.loads(content[4:start])
    arrays = {}
    for entry in header["arrays"]:
        dtype = np.dtype(entry["type"]).newbyteorder("<")
        stop = start + entry["length"] * dtype.itemsize
        planes = np.frombuffer(content[start:stop], np.uint8).reshape(dtype.itemsize, -1)
        values = np.ascontiguousarray(planes.T).view(dtype).ravel()
        arrays[entry["name"]] = values.astype(dtype.newbyteorder("="))
        start = stop
    return header["values"], arrays
