package chimeseal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
)

const (
	keySize   = 32
	nonceSize = 24
	tagSize   = 16
)

// An xaes is a key of XAES-256-GCM (https://c2sp.org/XAES-256-GCM): AES-256-GCM with nonces of 24 bytes. The first 12 bytes of a nonce derive the key
// for AES-GCM, by CMAC as in NIST SP 800-108, and the other 12 bytes are its nonce. So nonces may be random: after 2^80 values the risk that two of them
// have the same nonce is 2^-32.
type xaes struct {
	block cipher.Block
	k1    [aes.BlockSize]byte // the subkey of CMAC for a complete block
}

func newXAES(key []byte) (*xaes, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	x := &xaes{block: block}
	block.Encrypt(x.k1[:], x.k1[:])
	msb := 0
	for i := len(x.k1) - 1; i >= 0; i-- {
		x.k1[i], msb = x.k1[i]<<1|byte(msb), int(x.k1[i]>>7)
	}
	x.k1[len(x.k1)-1] ^= byte(msb * 0b10000111)
	return x, nil
}

// derive returns the AES-GCM that belongs to the first 12 bytes of a nonce.
func (x *xaes) derive(nonce []byte) (cipher.AEAD, error) {
	var key [keySize]byte
	for half := range 2 { // CMAC of one complete block each: the counter, the label, a zero, and the nonce
		part := key[half*aes.BlockSize:][:aes.BlockSize]
		copy(part, []byte{0, byte(half + 1), 'X', 0})
		copy(part[4:], nonce[:12])
		subtle.XORBytes(part, part, x.k1[:])
		x.block.Encrypt(part, part)
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// seal appends the sealed plain text to dst. The nonce has nonceSize bytes.
func (x *xaes) seal(dst, nonce, plain, aad []byte) ([]byte, error) {
	gcm, err := x.derive(nonce)
	if err != nil {
		return nil, err
	}
	return gcm.Seal(dst, nonce[12:], plain, aad), nil
}

// open returns the plain text.
func (x *xaes) open(nonce, sealed, aad []byte) ([]byte, error) {
	gcm, err := x.derive(nonce)
	if err != nil {
		return nil, err
	}
	return gcm.Open(nil, nonce[12:], sealed, aad)
}
