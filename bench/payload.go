package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// filler is what fills a payload up. It is letters because some peers store arguments as JSON, where other bytes would grow:
// every peer stores the same 100 bytes.
const filler = "the quick brown fox jumps over the lazy dog and pack my box with five dozen liquor jugs again and again"

// payloadOf returns the payload of a job that carries one number: its own, or the instant it was sent (UnixNano).
func payloadOf(number int64) []byte {
	payload := make([]byte, payloadBytes)
	var raw [8]byte
	binary.BigEndian.PutUint64(raw[:], uint64(number))
	hex.Encode(payload, raw[:])
	copy(payload[16:], filler)
	return payload
}

// numberIn returns the number that a payload carries.
func numberIn(payload []byte) (int64, error) {
	var raw [8]byte
	if len(payload) != payloadBytes {
		return 0, fmt.Errorf("a payload of %d bytes arrived as %d", payloadBytes, len(payload))
	}
	if _, err := hex.Decode(raw[:], payload[:16]); err != nil {
		return 0, fmt.Errorf("a payload arrived changed: %w", err)
	}
	return int64(binary.BigEndian.Uint64(raw[:])), nil
}
