"""ViT-L/16 of torchvision finetuned on ten classes, with one technique after the other that saves memory."""

import argparse
import contextlib

import torch
from torch.nn import functional
from torchvision.models import vit_l_16

STEPS = 8  # of the publication's hundreds: nothing changes after the second
SIDE = 224


def batches(options, sizes):
    """Images and targets as the program gets them: with --ahead on the device, while it still has the last."""
    for size in sizes:
        images, targets = torch.zeros(size, 3, SIDE, SIDE), torch.zeros(size, dtype=torch.int64)
        if options.ahead:
            images, targets = images.cuda(), targets.cuda()
        yield images, targets


class Program:
    """The model, and what its precision does before and after it."""

    def __init__(self, options):
        self.model = vit_l_16(weights=None)
        self.model.heads.head = torch.nn.Linear(1024, 10)
        self.half = options.precision == "bf16"
        if self.half:
            self.model.to(torch.bfloat16)
        self.model.cuda()
        mixed = options.precision == "16-mixed"
        self.cast = torch.autocast("cuda", torch.float16) if mixed else contextlib.nullcontext()
        self.scaler = torch.cuda.amp.GradScaler() if mixed else None
        adam = options.optimizer == "adam"
        parameters = self.model.parameters()
        self.optimizer = torch.optim.Adam(parameters, lr=5e-5) if adam else torch.optim.SGD(parameters, lr=0.01)

    def __call__(self, images):
        with self.cast:
            logits = self.model(images.bfloat16() if self.half else images)
        return logits.float()

    def backward(self, loss):
        (self.scaler.scale(loss) if self.scaler else loss).backward()

    def step(self):
        if self.scaler:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()


def train(program, options):
    """One epoch, in which gradients are set to None before the backward pass, or after a step where they accumulate."""
    for index, (images, targets) in enumerate(batches(options, [options.batch] * STEPS * options.accumulate)):
        images, targets = images.cuda(), targets.cuda()
        program.model.train()
        logits = program(images)
        loss = functional.cross_entropy(logits, targets) / options.accumulate
        if options.accumulate == 1:
            program.optimizer.zero_grad()
        program.backward(loss)
        if index % options.accumulate == 0:
            program.step()
            if options.accumulate > 1:
                program.optimizer.zero_grad()
        program.model.eval()
        with torch.no_grad():
            torch.argmax(logits, 1)


def validate(program, options):
    """Three batches of validation, whose last is smaller."""
    with torch.no_grad():
        for images, targets in batches(options, [options.batch, options.batch, 5000 % options.batch or options.batch]):
            images, targets = images.cuda(), targets.cuda()
            outputs = program(images)
            torch.argmax(outputs, 1)


def weights(how):
    """The weights alone in fp16: made in fp32 and moved, or made where and as they are wanted."""
    if how == "moved":
        return vit_l_16(weights=None).to("cuda").to(torch.float16)
    torch.set_default_dtype(torch.float16)
    with torch.device("cuda"):
        return vit_l_16(weights=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--precision", choices=["32", "16-mixed", "bf16"], default="32")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--optimizer", choices=["adam", "sgd"], default="adam")
    parser.add_argument("--ahead", action="store_true")
    parser.add_argument("--weights", choices=["moved", "direct"])
    options = parser.parse_args()
    if options.weights:
        model = weights(options.weights)
        assert all(parameter.dtype == torch.float16 for parameter in model.parameters())
    else:
        if options.precision != "32":
            torch.set_float32_matmul_precision("high")
        program = Program(options)
        train(program, options)
        validate(program, options)
    print("measured reserved", torch.cuda.max_memory_reserved())


main()
