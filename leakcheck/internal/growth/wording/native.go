package wording

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
)

// maxSizes is how many sizes of blocks a message lists.
const maxSizes = 8

// nativeRate is "+6.00 native blocks/op (+1.6 KiB/op): 1 x 1,024, 1 x 336, 2 x 32".
func nativeRate(n *finding.NativeGrowth, own series.Series) string {
	calls := float64(own.Called())
	bytes := "+" + series.BytesPerCall(float64(n.Bytes)/calls) + "/op"
	if len(n.Sizes) == 0 {
		return bytes + ": native memory, in about as many blocks"
	}
	rate := series.NounPerCall(own, "native block") + "/op (" + bytes + ")"
	var listed []string
	for i, s := range n.Sizes {
		if i == maxSizes {
			listed = append(listed, fmt.Sprintf("… and %s more", textfmt.CountNoun(int64(len(n.Sizes)-i), "size")))
			break
		}
		listed = append(listed, timesText(float64(s.Added)/calls)+" x "+textfmt.Count(s.Size))
	}
	return rate + ": " + strings.Join(listed, ", ")
}

// timesText is "2", or "0.25" for a number that is not whole.
func timesText(perCall float64) string {
	const off = 0.02
	if whole := math.Round(perCall); whole >= 1 && math.Abs(perCall-whole) <= off {
		return textfmt.Count(int64(whole))
	}
	return fmt.Sprintf("%.2f", perCall)
}

// callsBehind lists the calls that allocated the native memory that grows with a leak.
func (w *Wording) callsBehind(l *finding.Leak) []string {
	i := slices.IndexFunc(l.Resources, (*finding.Resource).IsOfC)
	if i < 0 || !w.RecordsNative {
		return nil
	}
	n, r := w.Native, l.Resources[i]
	switch {
	case n == nil && r.Native == nil:
		return nil // a mapping is Go's as a rule
	case n == nil:
		return []string{"", "leakgate run -native names the calls that allocate it"}
	case n.Unknown != "":
		return []string{"", "which calls allocate it is not known: " + n.Unknown}
	}
	var lines []string
	for _, c := range n.Answer.Lines {
		// memory of an unknown allocator is in mappings
		if c.Mapping == (r.Native == nil) || w.Last().Native == nil {
			if c.At != "" {
				c.Text += " (" + w.Env.PlaceOf(c.At) + ")"
			}
			lines = append(lines, c.Text)
		}
	}
	if lines == nil && r.Native == nil {
		return nil // mapped by Go
	}
	lines = append([]string{"", "allocated by:"}, lines...)
	return lines
}

// nativeHeldBy lists the holders of the growing native memory, nil if they are unknown.
func (w *Wording) nativeHeldBy(r *finding.Resource) []string {
	h := w.Holders
	switch {
	case r.Native == nil || h == nil:
		return nil
	case h.Err != nil:
		return []string{"could not tell who holds them: " + h.Err.Error()}
	case h.Found == nil || h.Found.All.Blocks == 0:
		return nil
	}
	return native.HeldBy(h.Found, message.MaxNameShown, func(s native.Sum) string {
		if r.Kind.InBytes() {
			return textfmt.ByteCount(s.Bytes)
		}
		calls := h.UpTo - h.Calls
		rate := fmt.Sprintf("%.2f native block", float64(s.Blocks)/float64(calls))
		if s.Blocks != calls {
			rate += "s"
		}
		return rate + "/op"
	})
}
