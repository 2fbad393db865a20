"""Damage to the bytes of files: pure functions of the content and a generator of random numbers.

Each returns new bytes. `damage` applies one or several of them, chosen at random.
"""

import numpy as np

# What parsers trip over: ends, marks, numbers beyond 64 bits, bytes that are not UTF-8, escapes.
HOSTILE = (
    b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b'"', b"'", b",", b";", b"\t", b"\r", b"\n", b"\f", b"{",
    b"}", b"[", b"]", b"\\", b"\x1b[31m", b"%", b"#", b":", b"-", b"=", b"nan", b"inf", b"1e999",
    b"99999999999999999999", b"-1", b"0x1F", b"1_000", "\u202e".encode(), "\u0663".encode(),
    b"\xef\xbb\xbf", b"PAR1", b"\x1f\x8b", b"PK\x03\x04", b"\x93NUMPY",
)  # fmt: skip


def truncate(content, rng):
    """The beginning of the content, of any length."""
    return content[: int(rng.integers(len(content) + 1))]


def flip(content, rng):
    """The content with one to eight bits flipped."""
    damaged = bytearray(content)
    for _ in range(int(rng.integers(1, 9)) if damaged else 0):
        damaged[int(rng.integers(len(damaged)))] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def insert(content, rng):
    """The content with something hostile in between."""
    at = int(rng.integers(len(content) + 1))
    return content[:at] + HOSTILE[int(rng.integers(len(HOSTILE)))] + content[at:]


def overwrite(content, rng):
    """The content with a run of random bytes, zeros or ones in it."""
    at, length = int(rng.integers(len(content) + 1)), int(rng.integers(1, 33))
    runs = (rng.bytes(length), bytes(length), b"\xff" * length)
    return content[:at] + runs[int(rng.integers(3))] + content[at + length :]


def delete(content, rng):
    """The content without a part."""
    start, end = sorted(int(at) for at in rng.integers(len(content) + 1, size=2))
    return content[:start] + content[end:]


def repeat(content, rng):
    """The content with a part of it again, once or several times."""
    start, end = sorted(int(at) for at in rng.integers(len(content) + 1, size=2))
    return content[:end] + content[start:end] * int(rng.integers(1, 4)) + content[end:]


def splice(content, other, rng):
    """The beginning of the content, and the end of another one."""
    return truncate(content, rng) + other[int(rng.integers(len(other) + 1)) :]


DAMAGES = (truncate, flip, insert, overwrite, delete, repeat)


def damage(content, rng, others=(), most=3):
    """The content after one to `most` kinds of damage; `others` are contents to splice with."""
    for _ in range(int(rng.integers(1, most + 1))):
        kind = int(rng.integers(len(DAMAGES) + bool(others)))
        if kind == len(DAMAGES):
            content = splice(content, others[int(rng.integers(len(others)))], rng)
        else:
            content = DAMAGES[kind](content, rng)
    return content


def random_generator(seed, case):
    """The generator of one case of a run, so that it can be repeated alone."""
    return np.random.default_rng([seed, case])
