import numpy as np
import pytest
import scipy.sparse as sp
from comparisons import assert_same_split
from foreign_graphs import PARTS, split_from_parts
from numpy.testing import assert_array_equal

from heatgraph.errors import InputError
from heatgraph.exchange.tensors import (
    dense_example,
    read_array,
    read_column,
    read_features,
    read_labels,
    read_sparse,
    read_splits,
    tensor_like,
)


class StrangeTensor:
    """A tensor that NumPy cannot represent."""

    dtype = "torch.strange"

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        raise TypeError("unsupported ScalarType")


class CoordinateTensor:
    """Has the methods of torch_sparse.SparseTensor that are read."""

    def __init__(self, rows, columns, values, shape):
        self._entries, self._shape = (rows, columns, values), shape

    def coo(self):
        return self._entries

    def sparse_sizes(self):
        return self._shape


class TestArrays:
    @pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64", "int64"])
    def test_every_dtype_is_read_exactly(self, torch, dtype):
        x = torch.tensor([[1], [2]], dtype=getattr(torch, dtype))
        assert_array_equal(read_array(x, "x"), [[1], [2]])

    def test_tensors_that_require_gradients(self, torch):
        assert_array_equal(read_array(torch.ones(2, requires_grad=True), "x"), [1, 1])

    def test_memory_is_shared(self, torch):
        x = torch.zeros(3)
        read_array(x, "x")[0] = 7
        assert x[0] == 7

    def test_tensors_that_numpy_cannot_represent(self):
        with pytest.raises(InputError, match="x cannot be read as an array: unsupported"):
            read_array(StrangeTensor(), "x")

    def test_a_column_may_be_a_matrix_of_one_column(self):
        assert read_column(None, "w") is None
        assert_array_equal(read_column([[1.0], [2.0]], "w"), [1, 2])
        with pytest.raises(InputError, match=r"w must be one weight per edge. Got shape \(1, 2\)"):
            read_column([[1.0, 2.0]], "w")


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
class TestSparseTensors:
    @pytest.mark.parametrize("convert", ["to_sparse_coo", "to_sparse_csr", "to_sparse_csc"])
    def test_layouts_of_torch(self, torch, convert):
        A = np.array([[0.0, 2, 0], [1, 0, 0]])
        read = read_features(getattr(torch.tensor(A), convert)(), "x")
        assert sp.issparse(read)
        assert_array_equal(read.toarray(), A)

    def test_dense_tensors_stay_dense(self, torch):
        assert isinstance(read_features(torch.eye(2), "x"), np.ndarray)
        assert read_features(None, "x") is None

    @pytest.mark.parametrize("values", [None, np.array([2.0, 3.0])])
    def test_torch_sparse(self, values):
        tensor = CoordinateTensor(np.array([0, 1]), np.array([1, 0]), values, (2, 3))
        expected = np.array([[0, 1, 0], [1, 0, 0]] if values is None else [[0, 2, 0], [3, 0, 0]])
        assert_array_equal(read_features(tensor, "x").toarray(), expected)

    def test_other_layouts_are_refused(self, torch):
        with pytest.raises(InputError, match="adj_t must be a sparse tensor.*Got strided"):
            read_sparse(torch.eye(2), "adj_t")
        with pytest.raises(InputError, match="Got sparse_bsr"):
            read_sparse(torch.eye(2).to_sparse_bsr((1, 1)), "adj_t")

    def test_indices_out_of_range(self):
        broken = CoordinateTensor(np.array([5]), np.array([0]), None, (2, 2))
        with pytest.raises(InputError, match="adj_t is not a valid sparse tensor"):
            read_sparse(broken, "adj_t")

    def test_complex_values(self):
        tensor = CoordinateTensor(np.array([0]), np.array([0]), np.array([1j]), (2, 2))
        with pytest.raises(InputError, match="adj_t must be real numbers"):
            read_sparse(tensor, "adj_t")


class TestLabels:
    def test_shapes_and_missing_labels(self, torch):
        assert read_labels(None, 3) is None
        assert_array_equal(read_labels(torch.tensor([[0], [2], [-1]]), 3), [0, 2, -1])
        assert_array_equal(read_labels(torch.tensor([0, 2, np.nan]), 3), [0, 2, np.nan])
        assert read_labels(["a", None, "b"], 3).tolist() == ["a", None, "b"]
        with pytest.raises(InputError, match=r"one label per node, 3 .*\(3, 2\)"):
            read_labels(torch.ones(3, 2), 3)

    def test_labels_are_copied(self, torch):
        y = torch.tensor([0, 1])
        labels = read_labels(y, 2)
        y[0] = 7
        assert_array_equal(labels, [0, 1])


class TestSplits:
    def test_no_masks(self):
        assert read_splits({}, 3) == {}

    def test_one_split(self):
        parts = np.array([0, 1, 2, 3, 0])
        masks = {f"{part}_mask": parts == number for number, part in enumerate(PARTS)}
        splits = read_splits(masks, 5)
        assert list(splits) == ["public"]
        assert_same_split(splits["public"], split_from_parts(parts))

    def test_a_column_per_split(self, torch):
        parts = np.random.default_rng(0).integers(0, 3, size=(9, 4))
        masks = {f"{part}_mask": torch.tensor(parts == number) for number, part in enumerate(PARTS)}
        splits = read_splits(masks, 9)
        assert list(splits) == ["0", "1", "2", "3"]
        for column, split in enumerate(splits.values()):
            assert_same_split(split, split_from_parts(parts[:, column]))
        masks["val_mask"] = masks["val_mask"][:, :2]
        with pytest.raises(InputError, match="equally many. Got 2 and 4"):
            read_splits(masks, 9)

    def test_a_single_mask_belongs_to_all_splits(self):
        train = np.array([[1, 0, 0], [0, 1, 0]], dtype=bool).T
        masks = {"train_mask": train, "test_mask": np.array([False, False, True])}
        splits = read_splits(masks, 3)
        assert [split.train.tolist() for split in splits.values()] == [[0], [1]]
        assert [split.test.tolist() for split in splits.values()] == [[2], [2]]
        assert [split.val.tolist() for split in splits.values()] == [[], []]

    @pytest.mark.parametrize(
        "mask", [np.ones(3, dtype=int), np.ones(2, dtype=bool), np.ones((3, 1, 1), dtype=bool)]
    )
    def test_bad_masks(self, mask):
        with pytest.raises(InputError, match=r"val_mask must be booleans.*\(3\).*bool\(\)"):
            read_splits({"val_mask": mask}, 3)

    def test_overlapping_masks(self):
        masks = {"train_mask": np.ones(2, bool), "test_mask": np.ones(2, bool)}
        with pytest.raises(InputError, match="train and test overlap in 2 nodes"):
            read_splits(masks, 2)


class TestTensorLike:
    @pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
    def test_the_float_type_is_that_of_the_example(self, torch, dtype):
        example = torch.ones(2, dtype=getattr(torch, dtype))
        assert tensor_like(example, np.eye(2)).dtype == example.dtype

    def test_integers_become_float32(self, torch):
        assert tensor_like(torch.ones(2, dtype=int), np.eye(2)).dtype == torch.float32

    def test_arrays_stay_arrays(self):
        X = np.eye(2)
        assert tensor_like(dense_example([[1.0]]), X) is X

    @pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
    @pytest.mark.parametrize("convert", ["to_sparse_coo", "to_sparse_csr", "to_dense"])
    def test_examples_of_sparse_tensors_are_dense(self, torch, convert):
        example = dense_example(getattr(torch.eye(2, dtype=torch.float64), convert)())
        assert (example.layout, example.dtype) == (torch.strided, torch.float64)
