"""From a request to a search problem: the graph, the engines that are to take part, and the devices."""
