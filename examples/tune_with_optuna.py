"""Choose T and weight decay with Optuna, one trial at a time.

`DGCClassifier()` tries hundreds of settings in the time of a few fits, so Optuna is only worth it
for search spaces that go beyond the parameters of the classifier.
"""

import numpy as np

import heatgraph as hg

try:
    import optuna
except ImportError as error:
    raise SystemExit("this example needs Optuna: pip install 'heatgraph[optuna]'") from error

random = np.random.default_rng(0)
labels = random.integers(3, size=600)
src, dst = random.integers(600, size=(2, 4000))
is_edge = (labels[src] == labels[dst]) | (random.random(len(src)) < 0.2)
features = random.normal(size=(3, 20))[labels] + 3 * random.normal(size=(600, 20))
graph = hg.Graph.from_edges(src[is_edge], dst[is_edge], features=features, symmetrize="max")
train, val, test = np.arange(60), np.arange(60, 260), np.arange(260, 600)


def objective(trial):
    clf = hg.DGCClassifier(
        T=trial.suggest_float("T", 0.1, 20, log=True),
        weight_decay=trial.suggest_float("weight_decay", 1e-5, 1, log=True),
        self_loops=trial.suggest_categorical("self_loops", [True, False]),
        calibrate=False,
    )
    return clf.fit(graph, labels, train=train).score(None, labels, nodes=val)


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(objective, n_trials=25)
best = hg.DGCClassifier(**study.best_params).fit(graph, labels, train=train)
auto = hg.DGCClassifier().fit(graph, labels, train=train, val=val)
print(f"Optuna: {study.best_params}")
print(f"  validation accuracy {study.best_value:.1%}")
print(f"  test accuracy {best.score(None, labels, nodes=test):.1%}")
print(f"DGCClassifier: T = {auto.T_:.2f}, best of {len(auto.search_)} settings")
print(f"  test accuracy {auto.score(None, labels, nodes=test):.1%}")
