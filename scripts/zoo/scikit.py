"""Accepted: scikit-learn's MLPClassifier and MLPRegressor through skl2onnx.

The trap is that a classifier has two outputs, label and probabilities, both behind the same logits.
"""

import numpy as np
from skl2onnx import to_onnx
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from .table import MLP, Case, accepted


SKL = "skl2onnx"


def digits_like():
    """200 samples of 8 features in [0,1] and three scores for each."""
    rng = np.random.default_rng(7)
    x = rng.random((200, 8), dtype=np.float32)
    return x, (x - 0.5) @ rng.normal(size=(8, 3)).astype(np.float32)


def skl_classifier(*scaler, labels=None, binary=False):
    x, scores = digits_like()
    y = np.argmax(scores, axis=1)
    if binary:
        y = (y > 0).astype(np.int64)
    if labels is not None:
        y = np.array(labels)[y]
    model = MLPClassifier(hidden_layer_sizes=(6, 5), max_iter=200, random_state=1)
    return make_pipeline(*scaler, model).fit(x, y) if scaler else model.fit(x, y)


def skl_case(model, **options):
    x, _ = digits_like()
    exported = to_onnx(model, x[:1], target_opset=options.pop("target_opset", 21), options=options or None)
    exported.graph.name = "skl"  # a random identifier otherwise
    return Case(exported)


@accepted("MLPClassifier, default: label and ZipMap of probabilities as outputs", MLP, exporter=SKL)
def skl_mlp_zipmap(_):
    return skl_case(skl_classifier())


@accepted("MLPClassifier, zipmap=False: label and probabilities as outputs", MLP, exporter=SKL)
def skl_mlp(_):
    return skl_case(skl_classifier(), zipmap=False)


@accepted("MLPClassifier in opset 11", MLP, exporter=SKL)
def skl_mlp_opset11(_):
    return skl_case(skl_classifier(), zipmap=False, target_opset=11)


@accepted("MLPClassifier, nocl=True", MLP, exporter=SKL)
def skl_mlp_nocl(_):
    return skl_case(skl_classifier(), zipmap=False, nocl=True)


@accepted("MLPClassifier with labels that are words", MLP, exporter=SKL)
def skl_mlp_words(_):
    return skl_case(skl_classifier(labels=["cat", "dog", "owl"]), zipmap=False)


@accepted("StandardScaler (ai.onnx.ml Scaler) and MLPClassifier", MLP, exporter=SKL)
def skl_pipeline_scaler(_):
    return skl_case(skl_classifier(StandardScaler()), zipmap=False)


@accepted("MinMaxScaler (Cast, Mul, Add) and MLPClassifier", MLP, exporter=SKL)
def skl_pipeline_minmax(_):
    return skl_case(skl_classifier(MinMaxScaler()), zipmap=False)


@accepted("MLPRegressor with one output, behind Reshape to [-1, 1]", [8, 6, 5, 1], exporter=SKL)
def skl_regressor(_):
    return skl_case(skl_mlp_regressor(outputs=1))


# skl2onnx 1.20 reshapes three outputs to [-1, 1] as well: [3, 1] for one sample, [3 N, 1] for N of them.
@accepted("MLPRegressor with three outputs, reshaped into the batch", MLP, exporter=SKL, optional=True)
def skl_regressor_three(_):
    return skl_case(skl_mlp_regressor(outputs=3))


def skl_mlp_regressor(outputs):
    x, scores = digits_like()
    return MLPRegressor(hidden_layer_sizes=(6, 5), max_iter=200, random_state=1).fit(x, scores[:, :outputs].squeeze())
