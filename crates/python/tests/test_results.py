"""Results: what they hold, and that they behave as Python's own things do."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
import rw_adv
from conftest import ROOT, SMALL


def test_what_a_verdict_promises_holds(model, digits, result):
    X, y = digits
    assert set(result.verdicts) == {"robust", "adversarial"}
    for image in result:
        assert image.predicted == model.predict(image.original)[0]
        if image.verdict == "adversarial":
            found = image.adversarial
            assert found.dtype == np.float32 and found.shape == (28, 28)
            assert found.min() >= 0 and found.max() <= 1
            distance = np.abs(found.astype(np.float64) - X[image.index].astype(np.float64)).sum()
            assert distance < 5 and distance == pytest.approx(image.distance)
            logits = model(found)[0]
            assert logits[image.target] > logits[image.predicted] and image.margin > 0
        else:
            assert image.adversarial is None and image.bound < 0 and image.margin <= image.bound
            assert all(target.verdict == "robust" for target in image.targets)
        assert [target.target for target in image.targets] == [k for k in range(10) if k != image.predicted]


def test_a_result_is_a_sequence(result):
    assert len(result) == 6 and len(list(result)) == 6
    assert result[-1].index == 5 and [image.index for image in result[1:4]] == [1, 2, 3]
    part = result[1:4]
    assert isinstance(part, rw_adv.AttackResult) and len(part.records) == 27 and part.complete
    assert part.images.shape == (3, 28, 28)
    assert [image.index for image in part[::-1]] == [3, 2, 1]
    assert len(result[6:]) == 0 and result[6:].certified_accuracy == 1.0
    with pytest.raises(IndexError):
        result[6]
    assert result.certified_accuracy == sum(image.verdict == "robust" for image in result) / 6


def test_adversaries_are_one_array(model, digits, result):
    X = digits[0][:6]
    success = result.success
    assert success.dtype == bool and 0 < success.sum() < 6
    kept = result.adversaries()
    assert kept.shape == X.shape and (kept[~success] == X[~success]).all()
    assert (model.predict(kept)[success] != model.predict(X)[success]).all()
    assert len(result.adversaries("drop")) == success.sum()
    assert (result.adversaries("best")[~success] != X[~success]).any()
    with pytest.raises(rw_adv.InputError, match="missing must be one of"):
        result.adversaries("none")


def test_frames_and_dictionaries(result):
    pandas = pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 6
    assert frame.verdict.value_counts().to_dict() == result.verdicts
    by_target = result.to_pandas(by="target")
    assert len(by_target) == 54 and set(by_target.columns) >= set(result.records[0])
    as_dict = result.to_dict()
    assert as_dict["records"] == result.records and as_dict["complete"] is True
    json.dumps(as_dict)
    assert as_dict["settings"]["delta"] == 5


def test_results_show_themselves(result, capfd):
    assert repr(result).startswith("AttackResult(6 images: ")
    assert repr(result[4]).startswith("ImageResult(4: predicted 4, ")
    assert "TargetResult(" in repr(result[4].targets[0])
    for shown in (result, result[4], result[4].targets[0]):
        html = shown._repr_html_()
        assert html.count("<img") >= 1 and "data:image/png;base64," in html and "verdict" in html
        assert html.count("<table") == html.count("</table>") == 1
    assert capfd.readouterr().out == ""
    result.show()
    shown = capfd.readouterr().out
    assert shown.count("\n") == 8 and "verdict" in shown


def test_names_of_classes_are_shown_escaped(digits):
    names = ["<b>zero</b>", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    model = rw_adv.load(SMALL, classes=names)
    X, y = digits
    found = rw_adv.attack(model, X[4:5], ["four"], delta=5, target="nine", time_limit=None)
    assert found[0].target == 9 and "as nine" in repr(found[0])
    every = rw_adv.attack(model, X[4:5], delta=0.1, time_limit=None)
    assert "<b>zero" not in every[0]._repr_html_() and "&lt;b&gt;zero" in every[0]._repr_html_()
    with pytest.raises(rw_adv.InputError, match="no class 'for'"):
        rw_adv.attack(model, X[4:5], ["for"], delta=3)


def test_pictures_are_plotted(result):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    figure = result[4].plot()
    titles = [axis.get_title() for axis in figure.axes]
    assert titles[0] == "image 4: 4" and titles[1].startswith("adversarial: ") and titles[2].startswith("difference, l1 ")
    assert len(figure.axes) == 4
    matplotlib.pyplot.close(figure)


def test_results_survive_pickling(result, tmp_path):
    again = pickle.loads(pickle.dumps(result))
    assert again.records == result.records and repr(again) == repr(result)
    assert (again[4].adversarial == result[4].adversarial).all()
    assert all((a == b).all() for a, b in zip(again[4].pattern, result[4].pattern))
    assert again.model.sha256 == result.model.sha256
    again.save(tmp_path / "again")
    result.save(tmp_path / "out")
    names = [sorted(p.name for p in (tmp_path / folder).rglob("*")) for folder in ("again", "out")]
    assert names[0] == names[1]
    with pytest.raises(rw_adv.SaveError, match="holds results already"):
        again.save(tmp_path / "again")
    with pytest.raises(rw_adv.SaveError, match="a part of a result that was pickled"):
        again[:2].save(tmp_path / "part")
    part = pickle.loads(pickle.dumps(result[4]))
    assert part.verdict == result[4].verdict and copy.deepcopy(part).margin == part.margin


def test_other_results_survive_pickling(model, digits, tmp_path):
    radii = pickle.loads(pickle.dumps(rw_adv.radius(model, digits[0][:1], time_limit=None)))
    assert radii[0].certified <= radii[0].attacked and "certified" in repr(radii)
    radii.save(tmp_path / "radii")
    assert "<img" in radii._repr_html_() and len(radii[:1]) == 1
    found = rw_adv.maximize("tests/zoo/accepted/acasxu_style.onnx", {0: 1.0})
    again = pickle.loads(pickle.dumps(found))
    assert again.value == found.value and (again.point == found.point).all()
    again.save(tmp_path / "maximum")


def test_a_pattern_is_the_signs_of_the_neurons(model, result):
    point = result[4].point.reshape(-1).astype(np.float64)
    for layer, states in zip(model.layers, result[4].pattern):
        values = layer.weights @ point + layer.bias
        assert layer.relu.all() and (states == (values > 0)).all()
        point = np.maximum(values, 0)
    last = model.layers[-1]
    assert not last.relu.any()
    assert last.weights @ point + last.bias == pytest.approx(model(result[4].point)[0], abs=1e-4)


def test_an_attack_is_called_like_those_of_others(model, digits):
    X, y = digits
    attack = rw_adv.Attack(model, 10)
    changed = attack(X[:4], y[:4])
    assert changed.shape == (4, 28, 28) and changed.dtype == np.float32
    assert (model.predict(changed) != y[:4]).all() and attack.result.success.all()
    assert np.abs(changed.astype(np.float64) - X[:4].astype(np.float64)).reshape(4, -1).sum(axis=1).max() < 10
    assert attack(X[0].reshape(784)).shape == (784,)


def test_targets_of_each_image(model, digits):
    X, y = digits
    found = rw_adv.attack(model, X[:3], y[:3], delta=2, target=[3, 2, 9], time_limit=None)
    assert [image.target for image in found] == [3, None, 9]
    assert found[1].verdict == "skipped" and found[1].margin is None and (found[1].point == X[1]).all()
    assert sum(found.outcomes.values()) == 2
    everyone = rw_adv.attack(model, X[:2], delta=2, target=int(y[0]), time_limit=None)
    assert everyone[0].verdict == "skipped" and everyone.certified_accuracy in (0.0, 1.0)
    nobody = rw_adv.attack(model, X[:1], delta=2, target=int(y[0]), time_limit=None)
    assert nobody.records == [] and nobody.complete and nobody.adversaries().shape == (1, 28, 28)
    nobody._repr_html_()


def test_a_model_is_a_function(model, digits):
    X, y = digits
    assert model.widths == (784, 16, 16, 10) and model.outputs == 10 and model.input_shape in ((784,), (1, 28, 28))
    assert (model.predict(X) == y).mean() > 0.8
    again = pickle.loads(pickle.dumps(model))
    assert (again(X) == model(X)).all() and again.name == model.name
    assert rw_adv.load((ROOT / SMALL).read_bytes()).sha256 == model.sha256


def test_normalisation_is_part_of_the_model(digits):
    onnx = pytest.importorskip("onnx")
    X, _ = digits
    plain = rw_adv.load(SMALL)
    shifted = rw_adv.load(SMALL, mean=0.5, std=[0.25])
    by_hand = [layer for layer in plain.layers]
    x = ((X[:3].reshape(3, -1).astype(np.float32) - np.float32(0.5)) / np.float32(0.25)).astype(np.float64)
    for layer in by_hand:
        x = x @ layer.weights.T + layer.bias
        x = np.where(layer.relu, np.maximum(x, 0), x)
    assert shifted(X[:3]) == pytest.approx(x, abs=1e-3)
    assert shifted.sha256 != plain.sha256 and shifted.name == f"{SMALL} (normalised)"
    whole = rw_adv.load(onnx.load(SMALL), range=(0, 255))
    assert whole(X[:1] / 255) == pytest.approx(plain(X[:1]), abs=1e-3)
    assert pickle.loads(pickle.dumps(shifted)).sha256 == shifted.sha256
    found = rw_adv.attack(shifted, X[:2], delta=1, time_limit=None)
    assert found.complete
    for arguments, words in [
        ({"std": 0}, "std must be positive"),
        ({"mean": np.nan}, "mean must be finite"),
        ({"range": (1, 0)}, "two numbers in order"),
        ({"range": 3}, "range must be two numbers"),
        ({"range": (0, 1), "std": 2.0}, "give one of them"),
    ]:
        with pytest.raises(rw_adv.InputError, match=words):
            rw_adv.load(SMALL, **arguments)
    with pytest.raises(rw_adv.ModelError, match="2 values of mean for an input of Nx784"):
        rw_adv.load(SMALL, mean=[1.0, 2.0])


def test_bounds_of_neurons_hold_for_every_sample(model, digits):
    x = digits[0][0].reshape(-1).astype(np.float64)
    rng = np.random.default_rng(0)
    ball = rw_adv.big_m(model, rw_adv.Ball(digits[0][0], 2, norm="l1"))
    flat = rw_adv.big_m(model, rw_adv.Ball(digits[0][0], 0.05, norm="linf"))
    box = rw_adv.big_m(model, rw_adv.Box(np.maximum(x - 0.05, 0), np.minimum(x + 0.05, 1)))
    row = np.ones((1, 784))
    cut = rw_adv.big_m(model, rw_adv.Box(0, 1, A=row, b=[x.sum()]))
    assert [len(lower) for lower, _ in ball] == [16, 16] and len(ball[:1]) == 1
    for bounds, sample in [
        (ball, lambda: np.clip(x + rng.permutation(np.r_[rng.dirichlet(np.ones(20)) * 2 * rng.choice([-1, 1], 20), np.zeros(764)]), 0, 1)),
        (flat, lambda: np.clip(x + rng.uniform(-0.05, 0.05, 784), 0, 1)),
        (box, lambda: np.clip(x + rng.uniform(-0.05, 0.05, 784), 0, 1)),
        (cut, lambda: x * rng.uniform(0, 1)),
    ]:
        for _ in range(50):
            h = sample()
            for layer, (lower, upper) in zip(model.layers, bounds):
                values = layer.weights @ h + layer.bias
                assert (lower <= values + 1e-9).all() and (values <= upper + 1e-9).all()
                h = np.maximum(values, 0)
    assert "unstable: " in repr(ball) and sum(states.sum() for states in ball.unstable) < 32


def test_properties_are_decided(model, digits):
    x = digits[0][4].reshape(-1)
    near = "".join(
        f"(declare-const X_{k} Real)(assert (>= X_{k} {max(v - 0.05, 0)}))(assert (<= X_{k} {min(v + 0.05, 1)}))"
        for k, v in enumerate(x.astype(float))
    )
    outputs = "".join(f"(declare-const Y_{k} Real)" for k in range(10))
    sat = rw_adv.verify(model, near + outputs + "(assert (>= Y_9 Y_4))")
    assert sat.result == "sat" and sat.counterexample.size == 784 and sat.complete
    assert sat.outputs[9] >= sat.outputs[4] and model(sat.counterexample.reshape(784))[0] == pytest.approx(sat.outputs)
    unsat = rw_adv.verify(model, near + outputs + "(assert (>= Y_0 (+ Y_4 100)))")
    assert unsat.result == "unsat" and unsat.counterexample is None and unsat.bound < 0
    assert "unsat" in unsat._repr_html_() and "&lt;text&gt;" in unsat._repr_html_() and repr(unsat).startswith("VerifyResult(<text>: unsat")


def test_maxima_are_found_and_proved():
    zoo = "tests/zoo/accepted/acasxu_style.onnx"
    free = rw_adv.maximize(zoo, objective={0: 1.0, 3: -0.5}, lower=-1, upper=1, branch=True)
    assert free.optimal and free.gap <= 1e-4 and free.point.shape == (1, 1, 5) and np.abs(free.point).max() <= 1
    A, b = np.ones((1, 5)), np.zeros(1)
    cut = rw_adv.maximize(zoo, objective={0: 1.0, 3: -0.5}, lower=-1, upper=1, A=A, b=b)
    assert cut.value <= free.bound and cut.point.sum() <= 1e-6
    model = rw_adv.load(zoo)
    logits = [layer for layer in model.layers]
    h = cut.point.reshape(-1)
    for layer in logits:
        h = layer.weights @ h + layer.bias
        h = np.where(layer.relu, np.maximum(h, 0), h)
    assert h[0] - 0.5 * h[3] == pytest.approx(cut.value)
    same = rw_adv.maximize(zoo, objective=[1.0, 0, 0, -0.5, 0], lower=[-1] * 5, upper=np.ones(5), constant=2.0, branch=100)
    assert same.value == pytest.approx(free.value + 2, abs=1e-3)
    decided = rw_adv.maximize(zoo, {0: 1.0}, threshold=1e6, goal="verdict")
    assert decided.verdict == "robust"


def test_whole_numbers():
    zoo = "tests/zoo/accepted/acasxu_style.onnx"
    free = rw_adv.maximize(zoo, {0: 1.0, 3: -0.5}, lower=-2.5, upper=2.5, branch=True)
    whole = rw_adv.maximize(zoo, {0: 1.0, 3: -0.5}, lower=-2.5, upper=2.5, integers=[0, 2], binaries=[4], branch=True, check_proofs=True)
    point = whole.point.reshape(-1)
    assert whole.record["integers"] == [0, 2, 4] and point[4] in (0, 1)
    assert (point[[0, 2]] == np.round(point[[0, 2]])).all() and np.abs(point[[0, 2]]).max() <= 2
    assert whole.optimal and whole.value <= free.bound


def test_one_of_several_outputs():
    with pytest.raises(rw_adv.ModelError, match="--output|several"):
        rw_adv.load("tests/zoo/refused/two_heads.onnx")
    model = rw_adv.load("tests/zoo/refused/two_heads.onnx", output="value")
    assert model.widths[-1] == 1
    assert pickle.loads(pickle.dumps(model)).sha256 == model.sha256


def test_torch_modules_and_tensors(digits):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    X, _ = digits
    linear = torch.nn.Linear
    net = torch.nn.Sequential(torch.nn.Flatten(), linear(784, 20), torch.nn.ReLU(), torch.nn.Dropout(0.5), linear(20, 10))
    net.train()
    model = rw_adv.load(net, torch.zeros(1, 1, 28, 28))
    assert net.training and model.widths == (784, 20, 10) and model.name == "<Sequential>"
    tensor = torch.from_numpy(X[:3]).reshape(3, 1, 28, 28)
    with torch.no_grad():
        assert model(tensor) == pytest.approx(net.eval()(tensor).numpy(), abs=1e-4)
    changed = rw_adv.Attack(model, 8)(tensor)
    assert isinstance(changed, torch.Tensor) and changed.shape == tensor.shape and changed.dtype == torch.float32
    assert pickle.loads(pickle.dumps(model)).sha256 == model.sha256
    with pytest.raises(rw_adv.InputError, match="needs an example input"):
        rw_adv.load(net)
    with pytest.raises(rw_adv.ModelError, match="Sequential"):
        rw_adv.load(net, torch.zeros(1, 3))


def test_proofs_can_be_checked_and_pictures_left_out(tmp_path):
    model = rw_adv.load(ROOT / SMALL)
    X, y = rw_adv.read_images(ROOT / "data", model, count=5)
    checked = rw_adv.attack(model, X, y, delta=5, check_proofs=True, progress=False)
    assert set(checked.verdicts) == {"robust", "adversarial"}
    from_bytes = rw_adv.load((ROOT / SMALL).read_bytes())
    again = rw_adv.attack(from_bytes, X[:1], delta=1, target="runner-up", check_proofs=True, progress=False)
    assert again[0].verdict == "robust"
    for pictures, wanted in (("none", 0), ("adversaries", 1)):
        checked.save(tmp_path / pictures, pictures=pictures)
        folder = tmp_path / pictures / "adversarial"
        found = {path.name for path in folder.glob("*.png")}
        assert bool(found) == bool(wanted) and not any("strip" in name for name in found)
    with pytest.raises(rw_adv.InputError, match="pictures"):
        checked.save(tmp_path / "no", pictures="some")
