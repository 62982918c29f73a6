// Package weights reads the weights that PyTorch saved with
// torch.save(model.state_dict(), "weights.pt"), and gives them to a model.
//
// A .pt file is a zip archive with a pickle in it, and a pickle is a program.
// Only the few operations of plain weights are followed, on values of the right
// kinds, with sizes that the archive bears out: see unpickle.
package weights
