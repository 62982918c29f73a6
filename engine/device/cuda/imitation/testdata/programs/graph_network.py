"""Layers of torch_geometric on batches of random graphs: some helpers count what they have made piece by piece."""

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, TopKPooling, global_mean_pool
from torch_geometric.utils import add_self_loops, coalesce, degree, to_dense_batch, to_undirected

torch.manual_seed(0)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = GCNConv(16, 64), GATConv(64, 16, heads=4), SAGEConv(64, 64)
        self.head = torch.nn.Linear(64, 4)

    def forward(self, batch):
        x = self.first(batch.x, batch.edge_index).relu()
        x = self.second(x, batch.edge_index).relu()
        x = self.third(x, batch.edge_index).relu()
        return self.head(global_mean_pool(x, batch.batch))


graphs = [
    Data(torch.randn(n, 16), to_undirected(torch.randint(0, n, (2, 3 * n))), y=torch.tensor([n % 4]))
    for n in range(10, 74)
]
model = Model().cuda()
optimizer = torch.optim.Adam(model.parameters())
for batch in DataLoader(graphs, batch_size=16):
    batch = batch.cuda()
    edges, _ = add_self_loops(coalesce(batch.edge_index))
    dense, mask = to_dense_batch(batch.x, batch.batch)
    assert len(dense) == len(mask) == batch.num_graphs and len(degree(batch.batch)) == batch.num_graphs
    torch.nn.functional.cross_entropy(model(batch), batch.y).backward()
    optimizer.step()
    optimizer.zero_grad()
print(TopKPooling(16).cuda()(batch.x, edges, batch=batch.batch)[0].shape, "peak", torch.cuda.max_memory_allocated())
