import copy

import numpy as np
import pytest
from comparisons import assert_same_graph, assert_same_split, dense
from foreign_graphs import PARTS, directed_edges, random_labels_and_parts, split_from_parts
from hypothesis import given
from numpy.testing import assert_array_equal
from strategies import graphs, seeds

from heatgraph import Graph, from_networkx
from heatgraph.errors import InputError


def networkx_graph(nx, graph, kind="Graph", parts=None, labels=None, names=None):
    G = getattr(nx, kind)()
    names = list(range(graph.num_nodes)) if names is None else names
    for node, name in enumerate(names):
        G.add_node(name)
        if graph.features is not None:
            G.nodes[name]["x"] = dense(graph.features)[node]
        if labels is not None and labels[node] >= 0:
            G.nodes[name]["y"] = int(labels[node])
        if parts is not None and parts[node] < 3:
            G.nodes[name]["part"] = PARTS[parts[node]]
    for u, v, weight in zip(*directed_edges(graph), strict=True):
        if u <= v or G.is_directed():
            extra = {} if graph.weights is None else {"weight": weight}
            G.add_edge(names[u], names[v], **extra)
    return G


class TestNetworkx:
    @pytest.mark.parametrize("kind", ["Graph", "DiGraph", "MultiGraph", "MultiDiGraph"])
    @given(graph=graphs(), seed=seeds)
    def test_round_trip(self, nx, kind, graph, seed):
        labels, parts = random_labels_and_parts(graph.num_nodes, seed)
        labels[0], parts[0] = 1, 0
        G = networkx_graph(nx, graph, kind, parts, labels)
        read = from_networkx(G, features="x", label="y", split="part")
        assert_same_graph(read.graph, graph)
        known = labels >= 0
        assert [label for label in read.labels.tolist() if label is not None] == list(labels[known])
        assert [label is not None for label in read.labels.tolist()] == list(known)
        assert list(read.splits) == ["part"]
        assert_same_split(read.split, split_from_parts(parts))
        assert_array_equal(read.graph.node_ids, range(graph.num_nodes))

    def test_the_documented_example(self, nx):
        club = nx.karate_club_graph()
        read = from_networkx(club, label="club")
        assert repr(read.graph) == "Graph(34 nodes, 78 weighted edges, no features, 0 isolated)"
        assert read.labels.tolist()[:2] == ["Mr. Hi", "Mr. Hi"]
        assert read.name == club.name
        assert from_networkx(nx.path_graph(2)).name == "networkx graph"
        assert from_networkx(club).labels is None
        assert from_networkx(club).splits == {}

    @pytest.mark.parametrize(
        "names",
        [
            [2**53 + 1, 2**53, 3],
            [2**80, 1, -(2**70)],
            [2**63 + 1, -1, 2**63],
            ["1", "01", "1.0"],
            ["1", 1, 2**53 + 1],
            [(0, 0), (0, 1), (1, 0)],
            [(0, 0), (0,), "a"],
            [frozenset({1}), "a\0", "a"],
        ],
    )
    def test_names_and_their_order_survive(self, nx, names):
        G = networkx_graph(nx, Graph(np.eye(3) + 1), names=names)
        ids = from_networkx(G).graph.node_ids.tolist()
        assert ids == names
        assert [type(name) for name in ids] == [type(name) for name in names]

    def test_edges_follow_the_order_of_nodes(self, nx):
        G = nx.Graph()
        G.add_nodes_from(["c", "a", "b"])
        G.add_edge("a", "b")
        assert_array_equal(
            from_networkx(G).graph.adjacency.toarray(), [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
        )

    def test_directions_are_merged(self, nx):
        G = nx.DiGraph([(0, 1, {"weight": 2.0}), (1, 0, {"weight": 3.0}), (1, 2, {"weight": 5.0})])
        assert from_networkx(G).graph.adjacency[0, 1] == 3
        assert from_networkx(G).graph.adjacency[2, 1] == 5
        assert from_networkx(G, symmetrize="sum").graph.adjacency[1, 0] == 5
        with pytest.raises(InputError, match="symmetrize="):
            from_networkx(G, symmetrize=None)
        assert from_networkx(G.to_undirected(), symmetrize=None).graph.num_edges == 2
        with pytest.raises(InputError, match="symmetrize must be one of"):
            from_networkx(nx.path_graph(2), symmetrize="mean")

    def test_directions_are_kept_if_asked(self, nx):
        G = nx.MultiDiGraph([(0, 1), (0, 1), (1, 0), (1, 2)])
        read = from_networkx(G, directed=True).graph
        assert read.directed_adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 0, 0]]
        assert from_networkx(G).graph.directed_adjacency is None
        with pytest.raises(InputError, match="directions of a DiGraph.*undirected Graph; leave"):
            from_networkx(nx.path_graph(2), directed=True)

    def test_weights(self, nx):
        G = nx.Graph([(0, 1), (1, 2, {"weight": 2.0, "cost": 7}), (0, 2, {"weight": 0})])
        assert_array_equal(
            from_networkx(G).graph.adjacency.toarray(), [[0, 1, 0], [1, 0, 2], [0, 2, 0]]
        )
        assert from_networkx(G, weight="cost").graph.adjacency[1, 2] == 7
        for weight in (None, "absent"):
            assert from_networkx(G, weight=weight).graph.weights is None
            assert from_networkx(G, weight=weight).graph.num_edges == 3

    @pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, "2", None, 10**400, [1]])
    def test_bad_weights_name_the_edge(self, nx, bad):
        G = nx.Graph([("a", "b", {"weight": 1.0}), ("b", "c", {"weight": bad})])
        with pytest.raises(InputError, match=r"Edge 'b' - 'c' has 'weight' = .*1 such .*None"):
            from_networkx(G)

    def test_parallel_edges(self, nx):
        G = nx.MultiGraph([("a", "b"), ("b", "a"), ("a", "c")])
        assert from_networkx(G).graph.weights is None
        assert from_networkx(G).graph.num_duplicates == 1
        G.add_edge("b", "a", weight=3.0)
        with pytest.raises(InputError, match="duplicates='sum' or duplicates='max'"):
            from_networkx(G)
        assert from_networkx(G, duplicates="sum").graph.adjacency[0, 1] == 5
        assert from_networkx(G, duplicates="max").graph.adjacency[0, 1] == 3

    def test_features_from_several_attributes(self, nx):
        G = nx.path_graph(3)
        for node in G:
            G.nodes[node].update(age=node + 20, member=node > 0, size=np.float32(0.5))
        read = from_networkx(G, features=["age", "size", "member"])
        assert read.graph.feature_names == ["age", "size", "member"]
        assert_array_equal(read.graph.features, [[20, 0.5, 0], [21, 0.5, 1], [22, 0.5, 1]])

    @pytest.mark.parametrize("bad", [np.nan, np.inf, "7", 1j, [1.0], 10**400])
    def test_bad_numbers_name_the_node(self, nx, bad):
        G = nx.Graph()
        G.add_node("a", age=1)
        G.add_node("b", age=bad)
        with pytest.raises(InputError, match="'age' of node 'b' is not a finite number .1 such"):
            from_networkx(G, features=["age"])

    @pytest.mark.parametrize(
        ("bad", "words"),
        [
            (3.0, r"has shape \(\) and is not a vector"),
            ([[1.0, 2.0]], r"has shape \(1, 2\)"),
            ([1.0], "has 1 entries, but the first node's has 2"),
            (["p", "q"], "not real numbers"),
            ([1.0, np.nan], "not finite"),
        ],
    )
    def test_bad_vectors_name_the_node(self, nx, bad, words):
        G = nx.Graph()
        G.add_node("a", x=[1, 2])
        G.add_node("b", x=bad)
        G.add_node("c", x=bad)
        with pytest.raises(InputError, match=f"'x' of node 'b' .*{words}.*2 such nodes"):
            from_networkx(G, features="x")
        G.nodes["a"]["x"] = 1.0
        with pytest.raises(InputError, match=r"node 'a' is a single value; .*features=\['x'\]"):
            from_networkx(G, features="x")

    def test_ragged_vectors(self, nx):
        G = nx.Graph()
        G.add_node("a", x=[1, 2])
        G.add_node("b", x=[1, [2, 3]])
        with pytest.raises(InputError, match="'x' of node 'b' cannot be read"):
            from_networkx(G, features="x")

    @pytest.mark.parametrize("features", ["x", ["x"]])
    def test_missing_features_name_the_node(self, nx, features):
        G = nx.Graph()
        G.add_node("a", x=[1] if features == "x" else 1)
        G.add_nodes_from(["b", "c"])
        with pytest.raises(InputError, match="Node 'b' has no 'x' .2 such nodes"):
            from_networkx(G, features=features)

    @pytest.mark.parametrize("parameter", ["features", "label", "split"])
    def test_attributes_that_no_node_has(self, nx, parameter):
        G = nx.path_graph(2)
        with pytest.raises(InputError, match=f"{parameter} must name .*'y'; there is none at all"):
            from_networkx(G, **{parameter: "y"})
        G.nodes[0]["kind"] = 3
        with pytest.raises(InputError, match="No node has 'y'; there is 'kind'"):
            from_networkx(G, **{parameter: "y"})

    def test_continuous_labels(self, nx):
        G = nx.path_graph(2)
        G.nodes[0]["y"] = 0.5
        with pytest.raises(InputError, match="continuous"):
            from_networkx(G, label="y")

    def test_tensors_as_vectors(self, nx, torch):
        G = nx.path_graph(2)
        for node in G:
            G.nodes[node]["x"] = torch.tensor([node, 1.5], requires_grad=True)
        assert_array_equal(from_networkx(G, features="x").graph.features, [[0, 1.5], [1, 1.5]])

    def test_other_objects_and_empty_graphs(self, nx):
        with pytest.raises(InputError, match="must be a NetworkX graph. Got list"):
            from_networkx([])
        for features in (None, "x", ["x"]):
            with pytest.raises(InputError, match="at least one node"):
                from_networkx(nx.Graph(), features=features)

    def test_the_graph_is_not_modified(self, nx):
        G = networkx_graph(nx, Graph(2 * np.ones((3, 3)), np.eye(3)), "MultiDiGraph")
        before = copy.deepcopy((list(G.nodes), list(G.edges(data=True))))
        from_networkx(G, features="x")
        assert before == (list(G.nodes), list(G.edges(data=True)))
