// Package weights reads the weights that PyTorch saved with
// torch.save(model.state_dict(), "weights.pt"), and gives them to a model.
//
// A .pt file is a zip archive with a pickle in it, and a pickle is a program.
// Before anything is built from it, our own scan walks over it ([scan]): it
// follows the kinds of values on the pickle's stack and accepts the few
// operations of plain weights, on values of the right kinds, with sizes that the
// archive bears out. Only what has passed goes to gopickle, which was not made
// for files from strangers.
package weights
