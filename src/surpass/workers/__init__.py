"""Where the work is done: on the processors of this machine, or on those of a Ray cluster, behind one interface.

runner      what can be asked of a runner: to run jobs, and to answer questions by replicas of an object
local       the runner of this machine: a process for each job
cluster     the runner of a Ray cluster; the only module that imports Ray, and only once it is asked for
worker      what each process of a cluster does
processes   a job as a process
playing     an agent run on many instances by all workers

Results do not depend on the runner, nor on how many workers it has, nor on which of them were lost.
"""
