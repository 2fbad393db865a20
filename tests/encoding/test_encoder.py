"""The encoder: columns of several kinds side by side, kept in models and graphs."""

import contextlib
import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import heatgraph as hg
from heatgraph.encoding.block import Settings
from heatgraph.encoding.column import Column
from heatgraph.encoding.encoder import FeatureEncoder, detect_kinds
from heatgraph.errors import FileFormatError, InputError, TableWarning
from heatgraph.tables.from_tables import read_tables
from heatgraph.tables.options import TableOptions

NONE = {"source": [], "target": []}


def mixed_table(n, seed):
    random = np.random.default_rng(seed)
    words = ["neural", "galaxy", "cell", "deep", "star", "gene"]
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "label": random.integers(3, size=n),
            "split": random.choice(["train", "val", "test"], n, p=[0.6, 0.2, 0.2]),
            "size": random.normal(5, 3, n),
            "weight": random.normal(size=n),
            "country": random.choice(["FR", "DE", "US"], n),
            "title": [" ".join(random.choice(words, 4)) + f" number {at}" for at in range(n)],
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(900, size=n), "D"),
            "tags": [random.choice(5, random.integers(1, 5)).tolist() for _ in range(n)],
        }
    )


def columns_of(**values):
    arrow = pa.table(values)
    return [Column(name, arrow.column(name), "t", str) for name in arrow.column_names]


def fit(columns, train=None, **settings):
    settings = Settings(**settings)
    columns, kinds, _ = detect_kinds(columns, settings, is_named=False)
    train = np.arange(len(columns[0])) if train is None else train
    encoder, _ = FeatureEncoder.fit(columns, kinds, train, settings)
    encoder, encoded = encoder.with_storage(columns)
    return encoder, encoded.values


@pytest.mark.parametrize("seed", range(3))
def test_a_mixed_table_against_scikit_learn(seed):
    """Numbers, categories and words as a column transformer of scikit-learn makes them."""
    table = mixed_table(60, seed)[["id", "label", "split", "size", "weight", "country", "title"]]
    graph = hg.from_tables(table, NONE).graph
    numbers = ["size", "weight"]
    oracle = make_column_transformer(
        (StandardScaler(), numbers),
        (OneHotEncoder(handle_unknown="ignore"), ["country"]),
        (TfidfVectorizer(sublinear_tf=True), "title"),
        sparse_threshold=1,
    ).fit(table[table["split"] == "train"])
    X = graph.features
    X = X.toarray() if sp.issparse(X) else X
    assert_allclose(X, oracle.transform(table).toarray(), atol=1e-5)
    words = oracle.named_transformers_["tfidfvectorizer"].get_feature_names_out()
    countries = [f"country={name}" for name in ("DE", "FR", "US")]
    assert graph.feature_names == [*numbers, *countries, *(f"title: {word}" for word in words)]


@given(st.integers(0, 50), st.integers(5, 40))
def test_rows_are_encoded_one_by_one(seed, n):
    """Another order of rows and columns, and a part of them, have the same features."""
    table = mixed_table(n, seed).drop(columns=["id", "label", "split"])
    encoder, X = fit(columns_of(**table), np.arange(n // 2))
    random = np.random.default_rng(seed)
    some = random.permutation(n)[: max(1, n // 3)]
    columns = [columns_of(**table.iloc[some])[at] for at in random.permutation(table.shape[1])]
    again = FeatureEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    assert again == encoder
    part = again.encode(columns).values
    assert sp.issparse(part) == sp.issparse(X)
    dense = [Y.toarray() if sp.issparse(Y) else Y for Y in (part, X[some])]
    assert_array_equal(*dense)
    assert X.dtype == np.float32


def test_numbers_alone_keep_their_values():
    encoder, X = fit(columns_of(u=[1.0, 2.0], v=[[3.0, 4.0], [5.0, 6.0]]))
    assert not encoder.settings.scaled
    assert X.tolist() == [[1, 3, 4], [2, 5, 6]]
    encoder, X = fit(columns_of(w=[["a", "b"], ["b", "b"]]))
    assert not encoder.settings.scaled
    assert X.toarray().tolist() == [[1, 1], [0, 2]]


def test_storage_is_that_of_the_fitted_table():
    table = {f"w{at}": [1.0 * (row % 30 == at) for row in range(60)] for at in range(30)}
    encoder, X = fit(columns_of(**table))
    assert sp.issparse(X)
    dense = encoder.encode(columns_of(**{name: [-1.0, 2.0] for name in table})).values
    assert dense.toarray().tolist() == [[-1] * 30, [2] * 30]


def test_two_features_of_the_same_name():
    with pytest.raises(InputError, match=r"'x=a' and 'x' both have a feature called 'x=a'. Rename"):
        fit(columns_of(**{"x": ["a", "b"], "x=a": [1.0, 2.0]}))


def test_no_columns_with_features():
    columns = columns_of(x=[None, 1.0], y=[1.0, 2.0])
    kinds = detect_kinds(columns, Settings(), is_named=False)[1]
    encoder, failed = FeatureEncoder.fit(columns[:1], kinds[:1], np.array([0]), Settings())
    assert encoder is None
    assert failed == {"x": "blank at every training node"}


def fitted_mixture(n=60, seed=0):
    table = mixed_table(n, seed)
    random = np.random.default_rng(seed)
    edges = {"source": random.integers(n, size=4 * n), "target": random.integers(n, size=4 * n)}
    data = hg.from_tables(table, edges)
    train, val, _ = data.partition()
    model = hg.DGCClassifier(T=1.0, weight_decay=1e-2, extensions=None)
    return table, edges, data, model.fit(data.graph, data.labels, train, val)


def test_a_model_keeps_its_encoder(tmp_path):
    table, edges, data, model = fitted_mixture()
    assert model.feature_encoder_ is data.graph.feature_encoder
    assert model.feature_scaling_ == "none"
    model.save(tmp_path / "model")
    again = hg.load(tmp_path / "model")
    assert again.feature_encoder_ == model.feature_encoder_
    fresh = hg.from_tables(table.sample(frac=1, random_state=0), edges, model=again)
    assert fresh.graph.feature_names == model.feature_names_in_
    order = np.argsort(fresh.graph.node_ids)
    assert_allclose(again.predict_proba(fresh.graph)[order], model.predict_proba(), atol=1e-6)
    names = {record["feature"] for record in again.explain(3, graph=data.graph, top=99).features}
    assert {"size", "when: days"} <= names
    assert any(name.startswith("title: ") for name in names)


def test_a_scaling_that_is_named_is_used():
    _, _, data, _ = fitted_mixture()
    model = hg.DGCClassifier(T=1.0, weight_decay=1e-2, feature_scaling="standard", extensions=None)
    assert model.fit(data.graph, data.labels).feature_scaling_ == "standard"
    both = hg.DGCClassifier(
        T=1.0, weight_decay=1e-2, feature_scaling=["auto", "standard"], extensions=None
    ).fit(data.graph, data.labels)
    assert {record["feature_scaling"] for record in both.search_} == {"none", "standard"}


def test_unknown_values_at_prediction_are_told():
    table, edges, _, model = fitted_mixture()
    other = table.assign(country="XX")
    with pytest.warns(TableWarning, match="60 of 60 nodes a value .* no training node has .*'XX'"):
        graph = hg.from_tables(other, edges, model=model).graph
    at = model.feature_names_in_.index("country=FR")
    assert abs(graph.features[:, [at]]).max() == 0
    other = table.assign(size=np.where(np.arange(60) < 5, np.nan, 1.0))
    with pytest.warns(TableWarning, match="'size' is missing in 5 of 60 nodes: filled in with"):
        hg.from_tables(other, edges, model=model)
    with pytest.raises(InputError, match="row 0 .*'size' is blank"):
        hg.from_tables(other, edges, model=model, missing="error")
    with pytest.raises(InputError, match="lacks features that the model was fitted with: size"):
        hg.from_tables(table.drop(columns="size"), edges, model=model)


def test_a_graph_keeps_its_encoder(tmp_path):
    _, _, data, _ = fitted_mixture()
    graph = data.graph
    graph.save(tmp_path / "graph")
    loaded = hg.Graph.load(tmp_path / "graph")
    assert loaded.feature_encoder == graph.feature_encoder
    assert loaded.feature_names == graph.feature_names
    assert graph.subgraph([0, 1]).feature_encoder is graph.feature_encoder
    assert graph.with_features(graph.features).feature_encoder is None
    kept = graph.with_features(graph.features, graph.feature_names, graph.feature_encoder)
    assert kept.feature_encoder is graph.feature_encoder
    assert hg.Graph(np.zeros((2, 2))).feature_encoder is None
    grown = graph.with_nodes(graph.features[:1], [(99, 0)], node_ids=[99])
    assert grown.feature_encoder is graph.feature_encoder


def change(**changes):
    return lambda content: content | changes


def change_column(**changes):
    return lambda content: content | {"columns": [content["columns"][0] | changes]}


@pytest.mark.parametrize(
    "damage",
    [
        change(format=2), change(missing="zero"), change(decimal=";"), change(scaled=1),
        change(sparse=None), change(columns=[]), change_column(kind="magic"),
        change_column(mean="x"), change_column(column="other"),
        lambda content: content | {"columns": content["columns"] * 2},
    ],
)  # fmt: skip
def test_damaged_encoders_are_refused(tmp_path, monkeypatch, damage):
    data = hg.from_tables({"id": [1, 2], "label": ["a", "b"], "x": [1.0, 2.0]}, NONE)
    model = hg.DGCClassifier(T=1.0, weight_decay=1e-2).fit(data.graph, data.labels)
    content = damage(data.graph.feature_encoder.to_json())
    monkeypatch.setattr(FeatureEncoder, "to_json", lambda _: content)
    model.save(tmp_path / "model")
    data.graph.save(tmp_path / "graph")
    for read in (lambda: hg.load(tmp_path / "model"), lambda: hg.Graph.load(tmp_path / "graph")):
        with pytest.raises(FileFormatError, match="does not hold a valid"):
            read()


def test_files_without_an_encoder_are_read(tmp_path, monkeypatch):
    """As older versions wrote them: features are numbers, found by name."""
    nodes = {"id": [1, 2], "label": ["a", "b"], "x": [1.0, 2.0], "e": [[0.0, 1.0], [2.0, 3.0]]}
    data = hg.from_tables(nodes, NONE)
    model = hg.DGCClassifier(T=1.0, weight_decay=1e-2).fit(data.graph, data.labels)
    model.feature_encoder_ = None
    model.save(tmp_path / "model")
    again = hg.load(tmp_path / "model")
    assert again.feature_encoder_ is None
    graph = hg.from_tables(nodes, NONE, model=again).graph
    assert_array_equal(again.predict_proba(graph), model.predict_proba())
    with pytest.raises(InputError, match="row 1 .*'x' is blank"):
        hg.from_tables(nodes | {"x": [1.0, None]}, NONE, model=again)


WORDS = st.text(st.characters(codec="utf-8"), max_size=5)
# Values as people's files have them, several kinds at once.
CELLS = st.one_of(
    st.none(),
    st.sampled_from(
        [
            "",
            " ",
            "NA",
            "nan",
            "inf",
            "1",
            "-2.5e3",
            "007",
            "1,5",
            "1_000",
            "1.234,5",
            "0x1",
            "\u0663",
        ]
    ),
    st.sampled_from(["2024-05-31", "2024-02-30", "2024-05-31T10:00Z", "0000-01-01", "31.5.2024"]),
    st.sampled_from(["[1, 2]", "[1]", "[]", "[[1]]", '["a", "b"]', "['a']", "[1.5, nan]", "[a]"]),
    st.sampled_from(["FR", "a b c d", "a longer text of words", "=", ": ", "is missing"]),
    WORDS,
)
TYPES = st.sampled_from(
    [
        (pa.int64(), st.none() | st.integers(-(2**63), 2**63 - 1)),
        (pa.uint64(), st.none() | st.integers(0, 2**64 - 1)),
        (pa.float64(), st.none() | st.floats()),
        (pa.float16(), st.none() | st.floats(width=16)),
        (pa.bool_(), st.none() | st.booleans()),
        (pa.timestamp("s"), st.none() | st.integers(-(2**63), 2**63 - 1)),
        (pa.timestamp("ns", "UTC"), st.none() | st.integers(-(2**63), 2**63 - 1)),
        (pa.date32(), st.none() | st.integers(-(2**31), 2**31 - 1)),
        (pa.list_(pa.int64()), st.none() | st.lists(st.none() | st.integers(0, 9), max_size=3)),
        (pa.list_(pa.float32()), st.none() | st.lists(st.none() | st.floats(width=32), max_size=2)),
        (pa.list_(pa.string()), st.none() | st.lists(st.none() | WORDS, max_size=3)),
        (pa.list_(pa.list_(pa.int8())), st.none() | st.lists(st.just([1]), max_size=2)),
        (pa.binary(), st.none() | st.binary()),
        (pa.null(), st.none()),
        (pa.string(), CELLS),
        (pa.dictionary(pa.int8(), pa.string()), CELLS),
    ]
)  # fmt: skip


@st.composite
def any_table(draw):
    n = draw(st.integers(1, 30))
    columns = {}
    for name in draw(st.lists(st.sampled_from(["x", "x=1", "user_id", "z"]), unique=True)):
        kind, cells = draw(TYPES)
        columns[name] = pa.array(draw(st.lists(cells, min_size=n, max_size=n)), kind)
    return pa.table({"id": range(n), **columns})


@given(
    any_table(),
    any_table(),
    st.sampled_from(["indicator", "mean", "error"]),
    st.sampled_from([None, ".", ","]),
)
def test_any_table_is_encoded_or_refused(table, other, missing, decimal):
    """Only errors of heatgraph, features that are finite, and a model that reads its own table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        try:
            graph = hg.from_tables(table, NONE, missing=missing, decimal=decimal).graph
        except InputError:
            return
        if graph.features is None:
            return
        values = graph.features.data if sp.issparse(graph.features) else graph.features
        assert np.isfinite(values).all()
        encoder = FeatureEncoder.from_json(json.loads(json.dumps(graph.feature_encoder.to_json())))
        options = TableOptions(model_features=graph.feature_names, model_encoder=encoder)
        again = read_tables(table, NONE, options).dataset.graph
        dense = [X.toarray() if sp.issparse(X) else X for X in (again.features, graph.features)]
        assert_array_equal(*dense)
        with contextlib.suppress(InputError):
            read_tables(other, NONE, options)


def test_indices_of_sparse_features_take_32_bits():
    nodes = {"id": range(60), "country": [f"c{at % 25}" for at in range(60)], "size": [1.5, 2] * 30}
    X = read_tables(nodes, NONE, TableOptions()).dataset.graph.features
    assert sp.issparse(X)
    assert (X.indices.dtype, X.indptr.dtype) == (np.int32, np.int32)
