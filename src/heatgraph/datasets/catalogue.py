"""Catalogue of data sets by name: sizes, licences, sources and readers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from heatgraph.datasets import geom_gcn, musae, reddit, synthetic
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


# Planetoid's files number the classes. Their sizes (249, 590, 668, 701, 596 and 508 papers) are all
# different, and those of the names in the original release, citeseer.content.
CITESEER_CLASSES = ("AI", "ML", "IR", "DB", "Agents", "HCI")

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
    it, `difference` why its counts differ from `published`, or where they are from. Counts of files
    that the user provides are published ones; `load_dataset` notes where the files differ.
    `class_names` are those of the labels 0, 1, ..., where the files have numbers.
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
    class_names: tuple[str, ...] = ()


def load_dataset(
    name: str, folder: str | Path | None = None, progress: Progress | None = None
) -> Dataset:
    """Load a data set by its name; ``heatgraph datasets`` lists them.

    Parameters
    ----------
    name : str
        "citeseer", "pubmed" and "karate" come with the package. "cora" is downloaded at first use.
        "blocks" and "reddit-like" are generated. Others are read from local files: "reddit";
        "texas", "cornell", "wisconsin", "chameleon", "squirrel", "actor"; "facebook-pages",
        "twitch-de", "-engb", "-es", "-fr", "-pt", "-ru".
    folder : path, optional
        Folder of local files: Planetoid's in ``planetoid``, which are preferred to a download,
        Reddit's in ``reddit``, Geom-GCN's in ``geom-gcn/NAME``, MUSAE's in ``musae/facebook_large``
        and ``musae/twitch/DE``. By default the environment variable HEATGRAPH_DATA.
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
        class_names=dict(enumerate(entry.class_names)),
        licence=entry.licence,
        citation=entry.citation,
        notes=" ".join(
            note for note in (entry.difference, _count_note(entry, data), data.notes) if note
        ),
    )


def _count_note(entry: CatalogueEntry, data: Dataset) -> str:
    """Which counts of provided files differ from the catalogue; empty if none."""
    if entry.place != "by hand":
        return ""
    counts = data.statistics
    names = [
        name for name in ("nodes", "edges", "features", "classes")
        if counts[name] != getattr(entry, name)
    ]  # fmt: skip
    if not names:
        return ""
    here = ", ".join(f"{counts[name]:,} {name}" for name in names)
    listed = ", ".join(f"{getattr(entry, name):,}" for name in names)
    return f"These files have {here}, where the catalogue has {listed}."


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


def _provided_reader(
    places: Sequence[str], files: str, read: Callable[[Path], Dataset], owner: str
) -> Reader:
    """Reader of the first of `places` in the folder of local files that has some of `files`.

    That folder may also be one of the places itself.
    """

    def read_first(folder: str | Path | None, progress: Progress | None) -> Dataset:
        local = data_folder(folder)
        if local is None:
            raise InputError(
                f"put {owner}'s files {files} into a folder {places[0]}. Then set HEATGRAPH_DATA "
                f"to the folder that has {places[0]} in it."
            )
        candidates = [local / place for place in places]
        if local.absolute().name in {Path(place).name for place in places}:
            candidates.append(local)
        present = [place for place in candidates if any(place.glob(files))]
        return read((present or candidates)[0])

    return read_first


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


def _geom_gcn_entry(
    name: str,
    title: str,
    counts: tuple[int, int, int, int],
    difference: str = "",
    folders: tuple[str, ...] = (),
) -> CatalogueEntry:
    """A data set in Geom-GCN's files: in a folder, or in a copy of their repository."""
    folders = folders or (name,)
    parents = ("geom-gcn", "geom-gcn/new_data", "new_data", ".")
    places = [f"{parent}/{folder}".removeprefix("./") for parent in parents for folder in folders]

    def read(folder: Path) -> Dataset:
        return geom_gcn.read_geom_gcn(folder, name)

    return CatalogueEntry(
        name, title, "by hand", *counts, _provided_reader(places, "out1_*.txt", read, "Geom-GCN"),
        geom_gcn.LICENCE, geom_gcn.CITATION, None, difference,
        f"Geom-GCN's files out1_*.txt in $HEATGRAPH_DATA/geom-gcn/{' or '.join(folders)}",
    )  # fmt: skip


def _musae_entry(
    name: str,
    title: str,
    counts: tuple[int, int, int, int],
    folder: str,
    read: Callable[[Path], Dataset],
    difference: str = "",
) -> CatalogueEntry:
    """A graph in MUSAE's files, in the folder that its archive unpacks to."""
    reader = _provided_reader([f"musae/{folder}", folder], "*_target.csv", read, "MUSAE")
    return CatalogueEntry(
        name, title, "by hand", *counts, reader, musae.LICENCE, musae.CITATION, None, difference,
        f"MUSAE's CSV and JSON files in $HEATGRAPH_DATA/musae/{folder}",
    )  # fmt: skip


def _read_facebook(folder: Path) -> Dataset:
    return musae.read_musae(folder, "page_type")


def _read_twitch(folder: Path) -> Dataset:
    return musae.read_musae(folder, "mature", node_id="new_id", num_features=TWITCH_FEATURES)


# Of all its graphs together, so that a model of one fits the others.
TWITCH_FEATURES = 3_170
LINKS = "Geom-GCN's file has {:,} directed links; its {:,} edges include {} self-loops."
QUOTED_EDGES = "The catalogue's number of edges is quoted from the literature, not counted."
QUOTED_FEATURES = "The catalogue's number of features is quoted from the literature, not counted."

_GEOM_GCN_ENTRIES = [
    _geom_gcn_entry(
        "texas", "web pages of a university, by words and links", (183, 295, 1_703, 5),
        LINKS.format(325, 295, 16),
    ),
    _geom_gcn_entry(
        "cornell", "web pages of a university, by words and links", (183, 280, 1_703, 5),
        LINKS.format(298, 280, 3),
    ),
    _geom_gcn_entry(
        "wisconsin", "web pages of a university, by words and links", (251, 466, 1_703, 5),
        LINKS.format(515, 466, 16),
    ),
    _geom_gcn_entry(
        "chameleon", "Wikipedia articles, by nouns and links", (2_277, 31_421, 2_325, 5),
        QUOTED_EDGES,
    ),
    _geom_gcn_entry(
        "squirrel", "Wikipedia articles, by nouns and links", (5_201, 198_493, 2_089, 5),
        QUOTED_EDGES,
    ),
    _geom_gcn_entry(
        "actor", "actors, by keywords and common pages", (7_600, 26_752, 932, 5),
        QUOTED_EDGES, ("actor", "film"),
    ),
]  # fmt: skip
_TWITCH = {
    "de": ("DE", "German", 9_498, 153_138),
    "engb": ("ENGB", "English", 7_126, 35_324),
    "es": ("ES", "Spanish", 4_648, 59_382),
    "fr": ("FR", "French", 6_549, 112_666),
    "pt": ("PTBR", "Portuguese", 1_912, 31_299),
    "ru": ("RU", "Russian", 4_385, 37_304),
}
_MUSAE_ENTRIES = [
    _musae_entry(
        "facebook-pages", "pages of four kinds, by words and likes", (22_470, 171_002, 4_714, 4),
        "facebook_large", _read_facebook, QUOTED_FEATURES,
    ),
    *(
        _musae_entry(
            f"twitch-{suffix}", f"streamers in {language}, by games and friends",
            (nodes, edges, TWITCH_FEATURES, 2), f"twitch/{folder}", _read_twitch,
        )
        for suffix, (folder, language, nodes, edges) in _TWITCH.items()
    ),
]  # fmt: skip
_ENTRIES = [
    CatalogueEntry(
        "citeseer", "papers of six fields, by words and citations", "bundled",
        3_327, 4_676, 3_703, 6, _bundle_reader("citeseer"), PLANETOID_LICENCE, PLANETOID,
        PublishedCounts(3_327, 4_732, (120, 500, 1_000)),
        EDGES_DIFFER.format(published=4_732, here=4_676, loops=124)
        + " 15 nodes have neither features nor a label (-1).",
        class_names=CITESEER_CLASSES,
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
    *_GEOM_GCN_ENTRIES,
    *_MUSAE_ENTRIES,
]  # fmt: skip
DATASETS = {entry.name: entry for entry in _ENTRIES}
