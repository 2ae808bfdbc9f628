"""A MILP of one's own, with certified neuron bounds as its big-M constants: python examples/big_m_pyscipopt.py [IMAGES]

The largest margin of a 2x50 network's runner-up within an L1 distance of 2 of an image, by SCIP: once with the constants that interval
arithmetic over the box of pixels gives (what modelling tools propagate from variable bounds), once with those of rw_adv.big_m.
Needs: pip install rw-adv pyscipopt
"""

import sys
import time

import numpy as np
import rw_adv
from pyscipopt import Model as Scip
from pyscipopt import quicksum

DELTA = 2.0


def interval_arithmetic(layers, lower, upper):
    """Bounds of every hidden neuron from those of the inputs."""
    for layer in layers[:-1]:
        positive, negative = np.maximum(layer.weights, 0), np.minimum(layer.weights, 0)
        bounds = positive @ lower + negative @ upper + layer.bias, positive @ upper + negative @ lower + layer.bias
        yield bounds
        lower, upper = (np.maximum(side, 0) for side in bounds)


def largest_margin(layers, bounds, image, predicted, target):
    """SCIP's answer: the margin, seconds of processor time, nodes and binary variables."""
    scip = Scip()
    scip.hideOutput()
    up = [scip.addVar(ub=1 - value) for value in image]
    down = [scip.addVar(ub=value) for value in image]
    scip.addCons(quicksum(up + down) <= DELTA)
    h = [value + u - d for value, u, d in zip(image, up, down)]
    binaries = 0
    for layer, (lower, upper) in zip(layers, bounds):
        outputs = []
        for weights, bias, low, high in zip(layer.weights, layer.bias, lower, upper):
            if high <= 0:  # always off
                outputs.append(0.0)
                continue
            g = quicksum(w * x for w, x in zip(weights, h)) + bias
            output = scip.addVar(lb=max(low, 0.0), ub=high)
            outputs.append(output)
            if low >= 0:  # always on
                scip.addCons(output == g)
                continue
            on, binaries = scip.addVar(vtype="B"), binaries + 1
            scip.addCons(output >= g)
            scip.addCons(output <= g - low * (1 - on))
            scip.addCons(output <= high * on)
        h = outputs
    margin = layers[-1].weights[target] - layers[-1].weights[predicted]
    constant = layers[-1].bias[target] - layers[-1].bias[predicted]
    scip.setObjective(quicksum(w * x for w, x in zip(margin, h)) + constant, "maximize")
    start = time.process_time()
    scip.optimize()
    return scip.getObjVal(), time.process_time() - start, scip.getNNodes(), binaries


def main():
    model = rw_adv.load("models/mnist_2x50.onnx")
    images = [int(word) for word in sys.argv[1].split(",")] if len(sys.argv) > 1 else [4]
    X, _ = rw_adv.read_images("data", model, count=max(images) + 1)
    print("image  constants   margin  seconds  nodes  binaries")
    for index in images:
        image, layers = X[index].reshape(-1).astype(float), model.layers
        predicted, target = (int(label) for label in np.argsort(-model(image)[0])[:2])
        low, high = np.maximum(image - DELTA, 0), np.minimum(image + DELTA, 1)
        plain = interval_arithmetic(layers, low, high)
        ours = rw_adv.big_m(model, rw_adv.Ball(image, DELTA))
        for name, bounds in [("intervals", plain), ("big_m", ours)]:
            margin, seconds, nodes, binaries = largest_margin(layers, bounds, image, predicted, target)
            print(f"{index:5}  {name:9}  {margin:7.4f}  {seconds:7.2f}  {nodes:5}  {binaries:8}", flush=True)


if __name__ == "__main__":
    main()
