"""Who does the work: the processors of this machine, or those of a Ray cluster, behind one interface.

runner      what can be asked of a runner: to run jobs, and to hold actors that share out the parts of one piece of work
local       the runner of this machine: a process for each job, and threads for actors
cluster     the runner of a Ray cluster; the only module that imports Ray, and only once it is asked for
worker      what each process of a cluster does
processes   a job as a process
playing     an agent run on many instances by all workers

What is computed does not depend on the runner, nor on how many workers it has, nor on which of them were lost.
"""
