// Package spikerule finds jumps of a program's live heap above its usual size, and limits how often
// they are examined.
package spikerule

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
)

// A Threshold is how far above the usual the live heap has to be. Where both parts are given, both
// have to be exceeded.
type Threshold struct {
	Share float64 // of the usual: 0.2 for 20 %; 0 for none
	Bytes int64   // 0 for none
}

// Least is the smallest jump, in bytes. The tool itself keeps less between two collections.
const Least = 1 << 20

// Check returns an error if a threshold makes no sense.
func (t Threshold) Check() error {
	switch {
	case math.IsNaN(t.Share) || math.IsInf(t.Share, 0) || t.Share < 0:
		return fmt.Errorf("a share of %v of the usual: it is a number above 0, such as 0.2 for 20 %%", t.Share)
	case t.Bytes < 0:
		return fmt.Errorf("%d bytes more than usual: it is a number above 0", t.Bytes)
	case t.Share == 0 && t.Bytes == 0:
		return errors.New("no threshold: give a share of the usual, a number of bytes, or both")
	}
	return nil
}

// Limit is the most live bytes that are no jump, if the live heap usually has usual bytes.
func (t Threshold) Limit(usual int64) int64 {
	more := max(t.Bytes, Least)
	if share := t.Share * float64(usual); share > float64(more) {
		more = int64(min(share, math.MaxInt64/4))
	}
	return min(usual, math.MaxInt64/4) + min(more, math.MaxInt64/4)
}

// String returns the form that Parse reads, with rounded sizes.
func (t Threshold) String() string {
	var parts []string
	if t.Share > 0 {
		parts = append(parts, strconv.FormatFloat(t.Share*100, 'f', -1, 64)+"%")
	}
	if t.Bytes > 0 {
		parts = append(parts, "+"+strings.ReplaceAll(textfmt.ByteCount(t.Bytes), " ", ""))
	}
	return strings.Join(parts, ",")
}

var errForm = errors.New(`it is a share of the usual, a size, or both, that have to be exceeded then: "20%", "+64MiB", "20%,+64MiB"`)

// Parse reads "20%", "+64MiB", or both with a comma in between.
func Parse(s string) (Threshold, error) {
	var t Threshold
	for _, part := range strings.Split(s, ",") {
		part = strings.TrimSpace(part)
		if number, ok := strings.CutSuffix(part, "%"); ok {
			percent, err := strconv.ParseFloat(strings.TrimPrefix(number, "+"), 64)
			if err != nil || !(percent > 0) || math.IsInf(percent, 0) || t.Share > 0 {
				return Threshold{}, errForm
			}
			t.Share = percent / 100
			continue
		}
		bytes, ok := parseSize(strings.TrimPrefix(part, "+"))
		if !ok || t.Bytes > 0 {
			return Threshold{}, errForm
		}
		t.Bytes = bytes
	}
	return t, nil
}

var units = []struct {
	suffix string
	bytes  float64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"kB", 1e3},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
}

// parseSize parses a number of bytes with its unit.
func parseSize(s string) (bytes int64, ok bool) {
	for _, u := range units {
		if number, found := strings.CutSuffix(s, u.suffix); found {
			n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			n *= u.bytes
			if err != nil || !(n >= 1 && n < 1<<62) {
				return 0, false
			}
			return int64(n), true
		}
	}
	return 0, false
}
