"""Its loop is of generators that are left in mid-step, thrown into, closed and dropped."""

from training import Training, turns

ends = []


def steps(training):
    try:
        while True:
            loss = training.loss()
            yield loss
            training.optimizer.zero_grad()
            loss.backward()
            yield "backward"
            training.optimizer.step()
    except KeyError:
        ends.append("thrown")
        yield training.step()
    finally:
        ends.append("closed")


first, second = Training(), Training(seed=2)
one, other = steps(first), steps(second)
for turn in turns():
    next(one)
    next(other)
    if turn % 50 == 40:
        ends.append(one.throw(KeyError()).item().hex())
        one = steps(first)
        other.close()
        other = steps(second)
print(ends, first.loss().item().hex(), second.loss().item().hex())
