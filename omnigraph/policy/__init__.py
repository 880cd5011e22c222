"""Policy: who may do what on which branches, as rules that Cedar evaluates.

actions  the actions, a request for one, and the decision on it
rules    the file `policy.yaml`, parsed strictly into frozen values
sandbox  validates Cedar policies in a child process before this one parses them
cedar    the rules as Cedar policies, parsed once and evaluated by `cedarpy`
policy   decides requests by the rules of a file; what no rule allows is denied
reload   a policy that can be read again from its file while it is in use
rights   the actions that a policy lets an actor do, on some branch and on `main`
readers  where there are actors and no policy, everybody may read and nothing else
cases    the file `policy.tests.yaml`: the decisions that a policy is expected to make
"""
