-- limits: numbers, sizes and ages that several scripts share; a test compares them with the Go code.
local MAX_ITEMS = 500 -- items of one call
local LARGE_BYTES = 2048 -- if an envelope or a definition is longer, …:state has the field large, and takes read lengths first
local CALL_BYTES = 1048576 -- about the bytes of envelopes or definitions that one call reads
local STALE_MS = 13000 -- a worker registered in …:idle for longer is skipped: the longest safety poll, which renews it, is shorter
