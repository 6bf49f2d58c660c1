package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/internal/wholefile"
)

// maxUnpacked bounds what a profile unpacks to. Parsed, it takes several times as much.
const maxUnpacked = 256 << 20

// ParseProfile reads a profile in any format of pprof's. A small file of others can unpack to more
// than there is memory: then it is an error.
func ParseProfile(data []byte) (*profile.Profile, error) {
	data, err := Unpack(data)
	if err != nil {
		return nil, err
	}
	return profile.ParseData(data)
}

// Unpack returns data as it is unless gzip compressed it, as it does profiles.
func Unpack(data []byte) ([]byte, error) { return unpack(data, maxUnpacked) }

func unpack(data []byte, limit int64) ([]byte, error) {
	if !packed(data) {
		return data, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("it looks compressed by gzip, and is not: %w", err)
	}
	out, err := wholefile.ReadAll(z, "what it unpacks to", limit)
	if err != nil {
		return nil, fmt.Errorf("it is compressed by gzip, and damaged or cut off, or too large: %w", err)
	}
	if packed(out) {
		return nil, errors.New("it is compressed twice")
	}
	return out, nil
}

func packed(data []byte) bool { return bytes.HasPrefix(data, []byte{0x1f, 0x8b}) }
