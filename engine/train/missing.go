package train

import (
	"errors"

	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
)

// makeMissing makes the parts that the config leaves to the trainer; Close
// releases them.
func (t *Trainer) makeMissing() error {
	c := &t.config
	if c.Loss == nil {
		c.Loss = &nn.CrossEntropy{}
	}
	if len(nn.Params(c.Loss)) > 0 {
		return errors.New("the loss has parameters: nothing would train them; make it a part of the model")
	}
	if c.Batches == nil {
		if err := t.makeBatches(); err != nil {
			return err
		}
	}
	if c.Model == nil {
		return t.makeModel()
	}
	return nil
}

func (t *Trainer) makeBatches() error {
	c := &t.config
	if c.Data == nil {
		return errors.New("nothing to train on: neither Batches nor Data is given")
	}
	loader, err := data.NewLoader(c.Data, data.LoaderOptions{Batch: c.Batch, Seed: c.Seed})
	if err != nil {
		return err
	}
	c.Batches, c.Spec = loader, c.Data.Spec()
	t.made = append(t.made, loader.Close)
	return nil
}

func (t *Trainer) makeModel() error {
	c := &t.config
	if c.Build == nil {
		return errors.New("nothing to train: neither Model nor Build is given")
	}
	var home *tensor.Device
	if err := tensor.Try(func() { home = c.Settings.Home(c.Device, c.Group) }); err != nil {
		return err
	}
	model, err := c.Build(home)
	if err != nil {
		return OutOfMemory(err, "making the model")
	}
	c.Model = model
	t.made = append(t.made, func() { nn.Close(model) })
	return nil
}
