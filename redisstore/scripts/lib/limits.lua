-- limits: numbers, sizes and ages that several scripts share; a test holds them against the Go code.
local MAX_ITEMS = 500 -- that one call touches
local LARGE_BYTES = 2048 -- if an envelope or a definition is longer, …:state has the field large, and takes ask for lengths first
local CALL_BYTES = 1048576 -- of envelopes or definitions that one call reads, about
local STALE_MS = 13000 -- a worker registered in …:idle for longer is passed over: the longest safety poll, which renews it, is shorter
