"""Every warning is an error to it, and it counts exceptions that are lost in threads and destructors."""

import sys
import threading
import warnings

from training import Training, turns

lost: list = []
warnings.simplefilter("error")
sys.unraisablehook = lambda what: lost.append(str(what.exc_value))
threading.excepthook = lambda what: lost.append(str(what.exc_value))
training = Training()
for _ in turns():
    loss = training.step()
print(lost, [one[0] for one in warnings.filters][:1], loss.item().hex())
