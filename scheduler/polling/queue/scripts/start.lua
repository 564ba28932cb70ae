-- Lets an executor begin: from now on nobody else may, with the same token or without. ARGV: see hold().

return hold(function(claim, executor) return claim.executor == '' or claim.executor == executor end)
