"""Policy: who may do what on which branches, as rules that Cedar decides.

actions  what a policy decides about: the ten actions, a request for one, and a decision
rules    the file `policy.yaml`, read strictly into frozen values
cases    the file `policy.tests.yaml`: what a policy is expected to decide
cedar    rules as Cedar policies, parsed once, and asked through `cedarpy`
sandbox  cedar policies are parsed and validated in a child process before they are used
policy   decides requests by the rules of a file; what no rule allows is denied
reload   a policy that is read again from its file while it is in use
"""
