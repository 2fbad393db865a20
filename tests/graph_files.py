"""Small files in the form of public data sets: Geom-GCN's and MUSAE's."""

import json

import numpy as np

# Eight nodes of three classes, each with four features.
GEOM_X = np.array(
    [
        [1, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 1],
        [0, 0, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 0],
    ]
)  # fmt: skip
GEOM_LABELS = np.array([0, 0, 1, 1, 2, 2, 0, 1])
# A link in both directions, four in one, one of these twice, and a self-loop.
GEOM_LINKS = [(0, 1), (1, 0), (2, 3), (4, 5), (6, 0), (7, 2), (7, 2), (5, 5)]
GEOM_EDGES = {(0, 1), (2, 3), (4, 5), (0, 6), (2, 7), (5, 5)}
# Out of order, as in the files of Wikipedia and Actor.
GEOM_ORDER = [3, 0, 1, 2, 7, 6, 5, 4]


def geom_node_lines(indices=False):
    """Lines of the file of nodes, with the header."""
    lines = ["node_id\tfeature(feature_amount:3)\tlabel" if indices else "node_id\tfeature\tlabel"]
    for node in GEOM_ORDER:
        values = np.flatnonzero(GEOM_X[node]) if indices else GEOM_X[node]
        lines.append(f"{node}\t{','.join(map(str, values))}\t{GEOM_LABELS[node]}")
    return lines


def geom_edge_lines():
    """Lines of the file of links, with the header."""
    return ["node_id\tnode_id", *(f"{v}\t{w}" for v, w in GEOM_LINKS)]


def write_lines(path, lines):
    """Write lines as the public files have them: with line feeds on any system."""
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())


def write_geom_gcn(folder, indices=False):
    """Write a data set in Geom-GCN's form."""
    folder.mkdir(parents=True, exist_ok=True)
    write_lines(folder / "out1_node_feature_label.txt", geom_node_lines(indices))
    write_lines(folder / "out1_graph_edges.txt", geom_edge_lines())
    return folder


def geom_masks(seed):
    """Masks of a split of the eight nodes: 4, 2 and 2."""
    order = np.random.default_rng(seed).permutation(8)
    parts = dict(zip(("train", "val", "test"), np.split(order, [4, 6]), strict=True))
    return {
        f"{name}_mask": np.isin(np.arange(8), part).astype(np.uint8) for name, part in parts.items()
    }


FACEBOOK_ROWS = [
    "id,facebook_id,page_name,page_type",
    "0,145647315578475,The Voice of China 中国好声音,tvshow",
    "1,191483281412,U.S. Consulate General Mumbai,government",
    "2,144761358898518,ESET,company",
    '3,568700043198473,"Woodstock Police, GA",government',
    '4,1408935539376139,"The ""Best"" Show",tvshow',
    "5,134464673284112,Victor Dominello MP,politician",
]
FACEBOOK_LABELS = ["tvshow", "government", "company", "government", "tvshow", "politician"]
# Out of order, and with a row twice, as Twitch's have them.
TWITCH_ROWS = [
    "id,days,mature,views,partner,new_id",
    "43622128,1910,False,2002,False,2",
    "32314097,2273,True,1885,False,0",
    "112985248,998,False,14538,True,1",
    "54595718,1738,True,8541,False,5",
    "32314097,2273,True,1885,False,0",
    "72920173,1461,False,49854,False,3",
    "64480092,1574,True,5735,False,4",
]
TWITCH_LABELS = ["True", "False", "False", "False", "True", "True"]
MUSAE_LINKS = [(0, 1), (1, 3), (2, 5), (4, 0), (3, 3)]
MUSAE_FEATURES = {"0": [4, 0], "1": [2], "2": [], "3": [1, 4], "4": [0, 4, 0], "5": [3]}
MUSAE_X = np.array(
    [
        [1, 0, 0, 0, 1], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0],
        [0, 1, 0, 0, 1], [1, 0, 0, 0, 1], [0, 0, 0, 1, 0],
    ]
)  # fmt: skip


def write_musae(folder, stem="facebook", rows=None, header="id_1,id_2", features=None):
    """Write a graph in MUSAE's form."""
    folder.mkdir(parents=True, exist_ok=True)
    write_lines(folder / f"musae_{stem}_target.csv", FACEBOOK_ROWS if rows is None else rows)
    write_lines(folder / f"musae_{stem}_edges.csv", [header, *(f"{v},{w}" for v, w in MUSAE_LINKS)])
    entries = MUSAE_FEATURES if features is None else features
    (folder / f"musae_{stem}_features.json").write_text(json.dumps(entries), encoding="utf-8")
    return folder


def write_twitch(folder, stem="DE"):
    """Write a graph in the form of Twitch's files."""
    return write_musae(folder, stem, TWITCH_ROWS, "from,to")
