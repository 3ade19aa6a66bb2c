"""Generated models against mixes of engines: NNSmith draws the graphs, and plans at random are forced on them."""
