"""Catalogue of data sets by name: sizes, licences, sources and readers."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from heatgraph.datasets import reddit, synthetic
from heatgraph.datasets.bundles import load_bundle
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


# Called with the folder of local files and a progress callback, both optional.
Reader = Callable[[str | Path | None, Progress | None], Dataset]


@dataclass(frozen=True)
class PublishedCounts:
    """Counts in the paper's Table 7; `split` has those of training, validation and test nodes."""

    nodes: int
    edges: int
    split: tuple[int, int, int]


@dataclass(frozen=True)
class CatalogueEntry:
    """A data set that `load_dataset` knows.

    `place` is where it comes from: the package ("bundled"), the network at first use ("download"),
    files that the user provides ("by hand"), or a generator ("generated"). `how` says how to obtain
    it, `difference` why its counts differ from `published`.
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
    published: PublishedCounts | None = None
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
        "reddit" is read from local files. "blocks" and "reddit-like" are generated.
    folder : path, optional
        Folder of local files: Planetoid's in ``planetoid``, which are preferred to a download, and
        Reddit's in ``reddit``. By default the environment variable HEATGRAPH_DATA.
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
    """The folder of local files: `folder`, or else HEATGRAPH_DATA; None without either."""
    path = folder or os.environ.get("HEATGRAPH_DATA")
    if not path:
        return None
    if not Path(path).is_dir():
        argument = "folder" if folder else "HEATGRAPH_DATA"
        raise InputError(f"{argument} must name a folder that exists. Got {os.fspath(path)!r}.")
    return Path(path)


def _planetoid_reader(name: str) -> Reader:
    def read(folder: str | Path | None, progress: Progress | None) -> Dataset:
        local = data_folder(folder)
        if local is not None and (local / "planetoid" / f"ind.{name}.graph").exists():
            source = local / "planetoid"
        else:
            source = fetch_planetoid(name, progress=progress)
        return replace(read_planetoid(source, name), source=f"Planetoid's files ind.{name}.*")

    return read


def _bundle_reader(name: str) -> Reader:
    return lambda folder, progress: load_bundle(name)


def _read_reddit(folder: str | Path | None, progress: Progress | None) -> Dataset:
    local = data_folder(folder)
    if local is None:
        raise InputError(f"{REDDIT_FILES}. Then set HEATGRAPH_DATA to its parent folder.")
    return reddit.read_reddit(local / "reddit")


def _make_blocks(folder: str | Path | None, progress: Progress | None) -> Dataset:
    return synthetic.make_block_graph()


def _make_reddit_like(folder: str | Path | None, progress: Progress | None) -> Dataset:
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
    CatalogueEntry(
        "citeseer", "papers of six fields, by words and citations", "bundled",
        3_327, 4_676, 3_703, 6, _bundle_reader("citeseer"), PLANETOID_LICENCE, PLANETOID,
        PublishedCounts(3_327, 4_732, (120, 500, 1_000)),
        EDGES_DIFFER.format(published=4_732, here=4_676, loops=124)
        + " 15 nodes have neither features nor a label (-1).",
    ),
    CatalogueEntry(
        "cora", "papers of seven fields, by words and citations", "download",
        2_708, 5_278, 1_433, 7, _planetoid_reader("cora"), PLANETOID_LICENCE, PLANETOID,
        PublishedCounts(2_708, 5_429, (140, 500, 1_000)),
        EDGES_DIFFER.format(published=5_429, here=5_278, loops="none"),
        "downloaded at first use (0.6 MB), or from $HEATGRAPH_DATA/planetoid",
    ),
    CatalogueEntry(
        "pubmed", "papers on three kinds of diabetes, by words and citations", "bundled",
        19_717, 44_327, 500, 3, _bundle_reader("pubmed"), PLANETOID_LICENCE, PLANETOID,
        PublishedCounts(19_717, 44_338, (60, 500, 1_000)),
        EDGES_DIFFER.format(published=44_338, here=44_327, loops=3),
    ),
    CatalogueEntry(
        "karate", "members of a karate club that split in two; no features", "bundled",
        34, 78, 0, 2, _bundle_reader("karate"), "facts from a published article", ZACHARY,
    ),
    CatalogueEntry(
        "blocks", "a synthetic graph with columns of numbers, to try things on", "generated",
        1_000, 4_998, 32, 4, _make_blocks, "none needed", "", None, "", "generated in no time",
    ),
    CatalogueEntry(
        "reddit", "posts of 41 communities, by words and common commenters", "by hand",
        232_965, 57_307_946, 602, 41, _read_reddit, reddit.LICENCE, reddit.CITATION,
        PublishedCounts(233_000, 11_600_000, (152_000, 24_000, 55_000)),
        "",
        REDDIT_FILES + " inside $HEATGRAPH_DATA",
    ),
    CatalogueEntry(
        "reddit-like", "a synthetic graph with Reddit's statistics", "generated",
        232_965, 57_307_946, 602, 41, _make_reddit_like, "none needed", "", None, "",
        "generated in a minute or so; takes 3 GB of memory",
    ),
]  # fmt: skip
DATASETS = {entry.name: entry for entry in _ENTRIES}
