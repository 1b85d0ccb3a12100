"""The engine of a cluster: blocks of whole objects are the partitions of a persisted RDD on Spark's workers.

Spark groups the claims by object; workers code them and lay them out, and the driver never holds them.
Results are those of the local engine to the last bit: blocks are laid out the same way, every object draws
from its own streams, and sums are sums of integers. A task that runs again computes the same.

The driver holds the names of objects and users and a few numbers for each. Arrays by object, and by user up
to a number of users, go to the workers as broadcast variables; beyond it a block gets the numbers of its own
users only (`users.py`). Of records the driver holds a number for each while they are put in order.

No file outside this folder imports pyspark.
"""

from crowdveil.engines.spark.claims import SparkClaims
from crowdveil.engines.spark.cluster import Cluster, connected
from crowdveil.engines.spark.engine import SparkEngine
from crowdveil.engines.spark.laying_out import lay_out
from crowdveil.engines.spark.laying_out_records import lay_out_records
from crowdveil.engines.spark.records import SparkRecords

__all__ = [
    "Cluster",
    "SparkClaims",
    "SparkEngine",
    "SparkRecords",
    "connected",
    "lay_out",
    "lay_out_records",
]
