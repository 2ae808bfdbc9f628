"""Bad input of every kind: one family of exceptions, and a line that says what was expected."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import rw_adv
from conftest import SMALL


def attack(model, X, y=None, **options):
    return rw_adv.attack(model, X, y, **{"delta": 1, "time_limit": None, "target": "runner-up", **options})


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros((2, 27, 28)), "X has shape 2x27x28: expected a number of images, each 784"),
        (np.zeros((0, 28, 28)), "X holds no images"),
        (np.zeros(3), "X has shape 3"),
        (np.float32(1), "X has shape a single number"),
        (np.zeros((2, 784), dtype=np.int64), "X has dtype int64: images must be floats from 0 to 1, or uint8"),
        (np.zeros((2, 784), dtype=bool), "dtype bool"),
        (np.zeros((2, 784), dtype=complex), "dtype complex128"),
        (np.full((2, 784), 255.0), "value 0 of image 0 is 255.0, images lie in [0, 1]; divide by 255, or pass uint8"),
        (np.full((2, 784), -1e-9), "image 0 is -1e-09"),
        (np.full((2, 784), np.nan), "is nan"),
        (np.full((2, 784), np.inf), "is inf"),
        ([[0.0, 1.0], [0.0]], "X is no array"),
        ("digits", "X has dtype <U6"),
        (None, "X is no array of numbers"),
    ],
)
def test_images_that_are_none(model, X, words):
    with pytest.raises(rw_adv.InputError) as caught:
        attack(model, X)
    assert words in str(caught.value)
    assert isinstance(caught.value, rw_adv.Error) and isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delta": 0}, "delta must be a positive number, not 0"),
        ({"delta": -1}, "delta must be a positive number"),
        ({"delta": float("nan")}, "delta must be finite"),
        ({"delta": "5"}, "delta must be a number, not '5'"),
        ({"delta": True}, "delta must be a number"),
        ({"norm": "l2"}, "norm must be one of 'l1', 'linf', not 'l2'"),
        ({"goal": "best"}, "goal must be one of"),
        ({"method": "magic"}, "method must be one of 'rw', 'paper'"),
        ({"target": "next"}, "target must be 'all', 'runner-up', a label"),
        ({"target": 10}, "target must be a whole number from 0 to 9, not 10"),
        ({"target": [1, 2, 3]}, "target has 3 labels for 2 images"),
        ({"target": [1, 10]}, "image 1 has label 10"),
        ({"branch": 0}, "branch must be a whole number from 1 on, not 0"),
        ({"branch": "yes"}, "branch must be a whole number"),
        ({"gap": 0}, "gap must be a positive number"),
        ({"patience": 0}, "patience must be"),
        ({"time_limit": 0}, "time_limit must be a positive number"),
        ({"threads": 0}, "threads must be a whole number from 1 to 1024, not 0"),
        ({"threads": 1e3}, "threads must be a whole number"),
        ({"seed": -1}, "seed must be a whole number from 0 to"),
        ({"progress": "yes"}, "progress must be True, False or a function"),
    ],
)
def test_options_that_make_no_sense(model, digits, options, words):
    with pytest.raises(rw_adv.InputError) as caught:
        attack(model, digits[0][:2], **options)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([1], "y has 1 labels for 2 images"),
        ([1, 10], "y: image 1 has label 10, the model has the classes 0 to 9"),
        ([1, -1], "image 1 has label -1"),
        ([0.5, 1], "y has dtype float64: labels must be whole numbers"),
        (["a", "b"], "labels must be whole numbers"),
    ],
)
def test_labels_that_are_none(model, digits, y, words):
    with pytest.raises(rw_adv.InputError) as caught:
        attack(model, digits[0][:2], y)
    assert words in str(caught.value)


def test_models_that_are_none(tmp_path):
    with pytest.raises(rw_adv.ModelError, match="no/such.onnx: cannot read the model"):
        rw_adv.load("no/such.onnx")
    with pytest.raises(rw_adv.ModelError, match="<bytes>: not an ONNX model: the file is empty"):
        rw_adv.load(b"")
    with pytest.raises(rw_adv.ModelError, match="<bytes>: "):
        rw_adv.load(open(SMALL, "rb").read()[:2000])
    with pytest.raises(rw_adv.InputError, match="a model is a path, bytes"):
        rw_adv.load(3)
    with pytest.raises(rw_adv.InputError, match="classes has 2 names, the model has 10"):
        rw_adv.load(SMALL, classes=["a", "b"])
    with pytest.raises(rw_adv.InputError, match="a name twice"):
        rw_adv.load(SMALL, classes=["a"] * 10)
    for directory in sorted((p for p in __import__("pathlib").Path("tests/zoo/refused").glob("*.onnx"))):
        with pytest.raises(rw_adv.ModelError) as caught:
            rw_adv.load(directory)
        assert str(directory) in str(caught.value) and "\n" not in str(caught.value)


def test_garbage_never_ends_the_interpreter(tmp_path):
    content = bytearray(open(SMALL, "rb").read())
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(60):
        damaged = bytearray(content)
        for place in rng.integers(0, 400, size=8):
            damaged[place] = rng.integers(0, 256)
        try:
            rw_adv.load(bytes(damaged))
        except rw_adv.Error:
            refused += 1
    assert refused > 0


def test_every_layout_gives_the_same_records(model, digits):
    X = digits[0][:2]
    wanted = [record["margin"] for record in attack(model, X).records]
    fortran = np.asfortranarray(X)
    strided = np.repeat(X, 2, axis=2)[:, :, ::2]
    assert not strided.flags.c_contiguous
    for same in (X.reshape(2, 784), X.reshape(2, 1, 28, 28), fortran, strided, X.astype(np.float64), X.tolist()):
        assert [record["margin"] for record in attack(model, same).records] == wanted
    bytes_ = np.round(X * 255).astype(np.uint8)
    assert [record["margin"] for record in attack(model, bytes_).records] == wanted
    one = attack(model, X[0])
    assert len(one) == 1 and one[0].adversarial is None or one[0].adversarial.shape == (28, 28)
    assert one.records[0]["margin"] == wanted[0]
    assert attack(model, X.reshape(2, 784))[0].point.shape == (784,)


def test_arrays_are_not_changed(model, digits):
    X = digits[0][:2].copy()
    X.flags.writeable = False
    attack(model, X)
    assert (X == digits[0][:2]).all()


def test_channels_in_another_order_are_refused_with_the_remedy(tmp_path):
    onnx = pytest.importorskip("onnx")
    helper, tensor = onnx.helper, onnx.TensorProto.FLOAT
    weights = [
        onnx.numpy_helper.from_array(np.random.default_rng(0).normal(size=shape).astype(np.float32), name)
        for name, shape in [("w", (48, 8)), ("v", (8, 3))]
    ]
    nodes = [
        helper.make_node("Flatten", ["x"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["g"]),
        helper.make_node("Relu", ["g"], ["h"]),
        helper.make_node("MatMul", ["h", "v"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", tensor, [1, 3, 4, 4])],
        [helper.make_tensor_value_info("y", tensor, [1, 3])],
        weights,
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    model = rw_adv.load(proto)
    assert model.input_shape == (3, 4, 4)
    images = np.random.default_rng(1).random((2, 4, 4, 3))
    with pytest.raises(rw_adv.InputError, match=r"channels come last: np.moveaxis\(X, -1, 1\)"):
        attack(model, images)
    found = attack(model, np.moveaxis(images, -1, 1), delta=0.5)
    assert found[0].point.shape == (3, 4, 4)
    assert "<img" in found._repr_html_()
    packed = tmp_path / "m.onnx.gz"
    packed.write_bytes(gzip.compress(proto.SerializeToString()))
    assert rw_adv.load(packed).widths == model.widths


def test_sets_and_domains_that_are_none(model, digits):
    with pytest.raises(rw_adv.InputError, match="set must be rw_adv.Ball or rw_adv.Box"):
        rw_adv.big_m(model, digits[0][0])
    with pytest.raises(rw_adv.InputError, match="x holds 2 images"):
        rw_adv.big_m(model, rw_adv.Ball(digits[0][:2], 1))
    zoo = "tests/zoo/accepted/acasxu_style.onnx"
    for arguments, words in [
        ({"objective": {9: 1.0}}, "objective must be a whole number from 0 to 4, not 9"),
        ({"objective": {0: "x"}}, r"objective\[0\] must be a number"),
        ({"objective": [1.0]}, "objective must be a dictionary"),
        ({"objective": {0: 1}, "lower": 2}, "lower is above upper for input 0"),
        ({"objective": {0: 1}, "lower": [0, 0]}, "lower has shape 2, expected 1x1x5 or a number"),
        ({"objective": {0: 1}, "upper": np.inf}, "finite bounds"),
        ({"objective": {0: 1}, "A": [[1] * 5]}, "A and b go together"),
        ({"objective": {0: 1}, "A": [[1] * 4], "b": [1]}, "A has shape 1x4"),
        ({"objective": {0: 1}, "A": [[1] * 5], "b": [1, 2]}, "b has 2 entries for the 1 rows"),
        ({"objective": {0: 1}, "A": [[1] * 5, [-1] * 5], "b": [1, -2]}, "no input keeps all"),
        ({"objective": {0: 1}, "A": [[0] * 5], "b": [-1]}, "no input keeps all"),
        ({"objective": {0: 1}, "integers": [5]}, "integers must be a whole number from 0 to 4, not 5"),
        ({"objective": {0: 1}, "binaries": 1}, "binaries must be a list of inputs"),
        ({"objective": {0: 1}, "lower": 2, "upper": 3, "binaries": [1]}, "neither 0 nor 1 is left for input 1"),
        ({"objective": {0: 1}, "lower": 0.25, "upper": 0.75, "integers": [1]}, "no whole number for x1 between 0.25 and 0.75"),
        ({"objective": {0: 1}, "goal": "verdict"}, "needs a threshold"),
        ({"objective": {0: 1}, "method": "apgd", "A": [[1] * 5], "b": [1]}, "apgd"),
    ]:
        with pytest.raises(rw_adv.InputError, match=words):
            rw_adv.maximize(zoo, **arguments)


def test_properties_that_are_none(model, tmp_path):
    with pytest.raises(rw_adv.PropertyError, match="cannot read"):
        rw_adv.verify(model, "no/such.vnnlib")
    with pytest.raises(rw_adv.PropertyError, match="<text>"):
        rw_adv.verify(model, "(assert (<= X_0")
    small = "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (>= X_0 0))(assert (<= X_0 1))(assert (>= Y_0 0))"
    with pytest.raises(rw_adv.PropertyError, match="inputs"):
        rw_adv.verify(model, small)
    with pytest.raises(rw_adv.InputError):
        rw_adv.verify(model, 3)


@pytest.mark.parametrize("in_background", [True, False])
def test_a_panic_is_an_exception(in_background, capfd):
    from rw_adv import _native

    with pytest.raises(rw_adv.InternalError, match="it panicked: a test"):
        _native.panic_for_tests(in_background)
