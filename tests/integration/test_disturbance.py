"""The measure of disturbance itself: it sees what a fault does, and excuses what the machine does."""

import pytest

from disturbance import Wait, assert_undisturbed, disturbed_rounds

ROUNDS = [(0.0, 10.0), (10.0, 20.0), (20.0, 30.0)]


def waits(*each: tuple) -> list:
    return [Wait(begin, begin + seconds) for begin, seconds in each]


def test_AWaitInEveryRoundIsADisturbance():
    measured = waits((1, 1.0), (11, 1.5), (21, 1.2))
    assert disturbed_rounds(measured, [], ROUNDS) == 3
    with pytest.raises(AssertionError, match="orders was disturbed in 3 of 3 rounds: it waited 1.500 s, the control 0.100 s at most"):
        assert_undisturbed("orders", measured, waits((15, 0.1)), ROUNDS)


def test_AWaitInTwoOfThreeRoundsIsADisturbance():
    with pytest.raises(AssertionError, match="2 of 3"):
        assert_undisturbed("orders", waits((1, 1.0), (11, 1.0)), [], ROUNDS)


def test_AWaitInTheOnlyRoundIsADisturbanceUnlessTheControlWaitedToo():
    with pytest.raises(AssertionError, match="1 of 1"):
        assert_undisturbed("orders", waits((1, 0.6)), waits((1.2, 0.1)), ROUNDS[:1])
    assert_undisturbed("orders", waits((1, 0.6)), waits((1.2, 0.3)), ROUNDS[:1])


def test_AWaitInOneOfThreeRoundsIsTheMachines():
    assert_undisturbed("orders", waits((1, 3.0), (4, 3.0)), [], ROUNDS)


def test_ShortWaitsDisturbNobody():
    assert disturbed_rounds(waits((1, 0.4), (11, 0.4), (21, 0.4)), [], ROUNDS) == 0


def test_TheControlExcusesOnlyWhatIsOfTheSameSecondsAndNotMuchLonger():
    measured = waits((1, 2.0), (11, 2.0), (21, 2.0))
    assert disturbed_rounds(measured, waits((1.5, 0.7), (11, 0.6), (28.5, 2.0)), ROUNDS) == 2


def test_AWaitThatReachesIntoTheNextRoundCountsInBoth():
    assert disturbed_rounds(waits((9.0, 2.0)), [], ROUNDS) == 2


def test_WhatWasBeforeAndAfterTheRoundsDoesNotCount():
    assert disturbed_rounds(waits((-5, 2.0), (31, 2.0)), [], ROUNDS) == 0
