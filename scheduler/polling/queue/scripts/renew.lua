-- Extends the leases of an executor. ARGV: see hold().

return hold(function(claim, executor) return claim.executor == executor end)
