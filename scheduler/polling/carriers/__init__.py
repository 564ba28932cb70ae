"""How carriers are asked: one protocol, and one file or package for each way of speaking to one."""
