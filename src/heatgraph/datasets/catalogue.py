"""The data sets that are known by name: what each is, how large, and where it comes from."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from heatgraph.datasets import reddit, synthetic
from heatgraph.datasets.bundled import bundled
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.download import Progress, fetch_planetoid
from heatgraph.datasets.planetoid import read_planetoid
from heatgraph.errors import InputError

Place = Literal["bundled", "download", "by hand", "generated"]

PLANETOID = """\
Zhilin Yang, William W. Cohen, Ruslan Salakhutdinov: Revisiting Semi-Supervised Learning with Graph
Embeddings. ICML 2016. Data: Prithviraj Sen et al.: Collective Classification in Network Data. AI
Magazine 29(3), 2008."""
PLANETOID_LICENCE = (
    "MIT (Planetoid's files, Copyright (c) 2016 Zhilin Yang); the citation data in them were "
    "published for research without a stated licence"
)
ZACHARY = """\
Wayne W. Zachary: An Information Flow Model for Conflict and Fission in Small Groups. Journal of
Anthropological Research 33(4), 1977."""


# Given a folder to look in first, and a function for progress.
Reader = Callable[[str | Path | None, Progress | None], Dataset]


@dataclass(frozen=True)
class Published:
    """What the paper's Table 7 says of a data set; `split` counts training, validation, test."""

    nodes: int
    edges: int
    split: tuple[int, int, int]


@dataclass(frozen=True)
class Entry:
    """A data set by name.

    `place` says how it is got: it is bundled, downloaded at first use, put into a folder by hand,
    or generated. `published` is what the paper says of it, `difference` why the files differ.
    """

    name: str
    title: str
    place: Place
    nodes: int
    edges: int
    features: int
    classes: int
    read: Reader
    licence: str
    citation: str
    published: Published | None = None
    difference: str = ""
    how: str = ""


def load_dataset(
    name: str, folder: str | Path | None = None, progress: Progress | None = None
) -> Dataset:
    """Load a data set by its name; ``heatgraph datasets`` lists them.

    Parameters
    ----------
    name : str
        "citeseer", "pubmed" and "karate" come with the package. "cora" is downloaded at first use.
        "reddit" is read from files that you bring. "blocks" and "reddit-like" are generated.
    folder : path, optional
        Where "cora" and "reddit" are looked for first; by default the folder that the environment
        variable HEATGRAPH_DATA names. It holds Planetoid's files in ``planetoid`` and Reddit's in
        ``reddit``.
    progress : callable, optional
        Called as ``progress(stage, done, total)`` while files are downloaded.

    Examples
    --------
    >>> data = load_dataset("citeseer")
    >>> data.graph
    Graph(3,327 nodes, 4,676 edges, 3,703 sparse features, 0 isolated, 124 self-loops)
    >>> data.split
    Split(train=120, val=500, test=1,000)
    """
    if name not in DATASETS:
        raise InputError(f"name must be one of {', '.join(DATASETS)}. Got {name!r}.")
    entry = DATASETS[name]
    data = entry.read(folder, progress)
    return replace(
        data,
        name=name,
        licence=entry.licence,
        citation=entry.citation,
        notes=" ".join(note for note in (entry.difference, data.notes) if note),
    )


def data_folder(folder: str | Path | None = None) -> Path | None:
    """The folder to look in first: the one given, or the one that HEATGRAPH_DATA names."""
    chosen = folder or os.environ.get("HEATGRAPH_DATA")
    if not chosen:
        return None
    if not Path(chosen).is_dir():
        named = "folder" if folder else "HEATGRAPH_DATA"
        raise InputError(f"{named} must name a folder that exists. Got {os.fspath(chosen)!r}.")
    return Path(chosen)


def _planetoid(name: str) -> Reader:
    def read(folder: str | Path | None, progress: Progress | None) -> Dataset:
        brought = data_folder(folder)
        if brought is not None and (brought / "planetoid" / f"ind.{name}.graph").exists():
            place = brought / "planetoid"
        else:
            place = fetch_planetoid(name, progress=progress)
        return replace(read_planetoid(place, name), source=f"Planetoid's files ind.{name}.*")

    return read


def _bundled(name: str) -> Reader:
    return lambda folder, progress: bundled(name)


def _reddit(folder: str | Path | None, progress: Progress | None) -> Dataset:
    brought = data_folder(folder)
    if brought is None:
        raise InputError(f"{REDDIT_FILES}. Then set HEATGRAPH_DATA to the folder around it.")
    return reddit.read_reddit(brought / "reddit")


def _blocks(folder: str | Path | None, progress: Progress | None) -> Dataset:
    return synthetic.make_block_graph()


def _reddit_like(folder: str | Path | None, progress: Progress | None) -> Dataset:
    return synthetic.reddit_like()


REDDIT_FILES = (
    "put DGL's reddit_data.npz and reddit_graph.npz, or SGC's reddit.npz and reddit_adj.npz, into "
    "a folder reddit"
)
EDGES_DIFFER = (
    "The paper counts {published:,} edges, which is the number of citations in the original "
    "release; Planetoid's files have {here:,} distinct undirected ones, {loops} of them self-loops."
)

_ENTRIES = [
    Entry(
        "citeseer", "papers of six fields, by words and citations", "bundled",
        3_327, 4_676, 3_703, 6, _bundled("citeseer"), PLANETOID_LICENCE, PLANETOID,
        Published(3_327, 4_732, (120, 500, 1_000)),
        EDGES_DIFFER.format(published=4_732, here=4_676, loops=124)
        + " 15 nodes have neither features nor a label (-1).",
    ),
    Entry(
        "cora", "papers of seven fields, by words and citations", "download",
        2_708, 5_278, 1_433, 7, _planetoid("cora"), PLANETOID_LICENCE, PLANETOID,
        Published(2_708, 5_429, (140, 500, 1_000)),
        EDGES_DIFFER.format(published=5_429, here=5_278, loops="none"),
        "downloaded at first use (0.6 MB), or from $HEATGRAPH_DATA/planetoid",
    ),
    Entry(
        "pubmed", "papers on three kinds of diabetes, by words and citations", "bundled",
        19_717, 44_327, 500, 3, _bundled("pubmed"), PLANETOID_LICENCE, PLANETOID,
        Published(19_717, 44_338, (60, 500, 1_000)),
        EDGES_DIFFER.format(published=44_338, here=44_327, loops=3),
    ),
    Entry(
        "karate", "members of a karate club that split in two; no features", "bundled",
        34, 78, 0, 2, _bundled("karate"), "facts from a published article", ZACHARY,
    ),
    Entry(
        "blocks", "a synthetic graph with columns of numbers, to try things on", "generated",
        1_000, 4_998, 32, 4, _blocks, "none needed", "", None, "", "generated in no time",
    ),
    Entry(
        "reddit", "posts of 41 communities, by words and common commenters", "by hand",
        232_965, 57_307_946, 602, 41, _reddit, reddit.LICENCE, reddit.CITATION,
        Published(233_000, 11_600_000, (152_000, 24_000, 55_000)),
        "",
        REDDIT_FILES + " inside $HEATGRAPH_DATA",
    ),
    Entry(
        "reddit-like", "a synthetic graph with Reddit's statistics", "generated",
        232_965, 57_307_946, 602, 41, _reddit_like, "none needed", "", None, "",
        "generated in a minute or so; takes 3 GB of memory",
    ),
]  # fmt: skip
DATASETS = {entry.name: entry for entry in _ENTRIES}
