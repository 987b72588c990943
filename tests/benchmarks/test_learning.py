"""The benchmark of learning: the peer sees what our environment shows, and a missing peer is said."""

import sys

import gymnasium
import numpy as np
import pytest
from bench import learning
from bench.report import Measurement, PeerMissingError, Ratio, Report, show
from bench.timing import Timing
from gymnasium.vector import AutoresetMode
from rich.console import Console

WHY = "Stable-Baselines3 is not installed: `make bench` installs it"


def test_a_missing_peer_is_said(monkeypatch):
    monkeypatch.delitem(sys.modules, "bench.a2c", raising=False)
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(PeerMissingError, match="Stable-Baselines3 is not installed"):
        learning.measure(1)


def test_the_peer_sees_every_step_as_the_environment_shows_it():
    pytest.importorskip("stable_baselines3", reason=WHY)
    from bench.a2c import make_environment

    peer = make_environment("sort-bubble", 8, size=(3, 5), limit="6")
    ours = gymnasium.make_vec(
        "surpass/sort-bubble-v0",
        num_envs=8,
        observation="one-hot",
        size=(3, 5),
        limit="6",
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    np.testing.assert_array_equal(peer.reset(), ours.reset(seed=0)[0])
    random = np.random.default_rng(0)
    cuts = []
    for _ in range(30):
        actions = random.integers(0, 28, 8)
        seen, rewards, ended, infos = peer.step(actions)
        expected, paid, terminated, truncated, found = ours.step(actions)
        np.testing.assert_array_equal(seen, expected)
        np.testing.assert_allclose(rewards, paid)
        np.testing.assert_array_equal(ended, terminated | truncated)
        for row in range(8):
            if ended[row]:
                np.testing.assert_array_equal(infos[row]["terminal_observation"], found["final_obs"][row])
                assert infos[row]["TimeLimit.truncated"] == truncated[row]
                cuts.append(truncated[row])
            else:
                assert infos[row] == {}
    assert set(cuts) == {True, False}, "both kinds of end must have occurred"


def test_the_peer_has_our_hidden_layers_and_learns_what_it_is_taught():
    pytest.importorskip("stable_baselines3", reason=WHY)
    from bench.a2c import make_environment, make_learner, teach

    peer = make_learner(make_environment("knapsack", 4), 5, has_value_network=False)
    shapes = [tuple(layer.shape) for layer in peer.policy.mlp_extractor.policy_net.parameters() if layer.dim() == 2]
    assert shapes == [(64, 14), (64, 64), (64, 64)]
    assert not list(peer.policy.mlp_extractor.value_net.parameters())
    inputs, actions = np.eye(6, 14, dtype=np.float32), np.array([0, 1, 2, 3, 4, 0])
    teach(peer, inputs, actions)
    np.testing.assert_array_equal(peer.predict(inputs, deterministic=True)[0], actions)


@pytest.mark.parametrize("learned", [False, True])
def test_a_case_compares_ours_with_the_peer_as_used_and_at_its_best(learned, monkeypatch):
    pytest.importorskip("stable_baselines3", reason=WHY)
    import bench.a2c

    asked = []
    rates = {(16, 5): 0.5, (4, 5): 2.0, (8, 5): 3.0, (256, 50): 1.0}

    def fake(learner):
        setting = (learner.n_envs, learner.n_steps)
        return lambda: asked.append(setting) or Timing(int(1000 * rates[setting]), 1.0)

    monkeypatch.setattr(bench.a2c, "updating", fake)
    monkeypatch.setattr(learning, "SETTINGS", ((4, 5), (8, 5)))
    report = learning.measure_case(learning.Case("knapsack", "rl"), 1, learned)
    ours, usual, theirs = report.measurements
    assert asked == [(4, 5), (8, 5), (256, 50), (16, 5), (8, 5)]
    assert usual.what.endswith("as its users run it, 16 x 5")
    assert theirs.what.endswith("on our vector environment, 8 x 5")
    assert ours.timing.steps == 20 * 256 * 50
    assert report.ratios[0].value == pytest.approx(ours.timing.rate / 500)
    assert report.ratios[1].value == pytest.approx(ours.timing.rate / 3000)


def test_the_peer_as_its_users_run_it_steps_single_environments():
    pytest.importorskip("stable_baselines3", reason=WHY)
    from bench.a2c import make_learner, make_usual_environment
    from stable_baselines3.common.vec_env import DummyVecEnv

    peer = make_usual_environment("sort-bubble", 3, size=(3, 5), limit="6")
    assert isinstance(peer, DummyVecEnv)
    assert [env.unwrapped.spec.id for env in peer.envs] == ["surpass/sort-bubble-v0"] * 3
    make_learner(peer, 5, has_value_network=False).learn(30)


@pytest.mark.parametrize(("value", "verdict"), [(31.0, "met"), (29.0, "missed")])
def test_a_ratio_says_whether_it_is_as_large_as_we_want(value, verdict, capsys):
    report = Report((Measurement("ours", Timing(1, 1.0)),), (Ratio("ours / theirs", value, least=30),))
    show(Console(force_terminal=False), "learning", "speed", report)
    assert f"at least 30x wanted, {verdict}" in capsys.readouterr().out
    assert report.to_json()["ratios"][0]["least"] == 30
