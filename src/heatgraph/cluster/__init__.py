"""Diffusion on a Dask cluster (extra: cluster), with the same bits as on one machine.

The cluster is the user's: any scheduler that `dask.distributed` has. There are two modes.

columns
    Every worker maps the file of the graph and diffuses panels of columns. Only tokens go over the
    wire.
blocks
    Every worker has a block of rows of the graph, and one panel is diffused at a time; after each
    product, the blocks exchange the rows at their boundaries. For graphs that no worker can hold.
"""

from heatgraph.cluster._connection import Cluster as Cluster
from heatgraph.cluster._plan import ClusterPlan as ClusterPlan
