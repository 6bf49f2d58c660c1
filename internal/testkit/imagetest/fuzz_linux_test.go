package imagetest_test

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/imagetest"
)

// FuzzGraph scans a heap in damaged memory, up to the report. Every process of the fuzzer records
// the memory of the subject anew. Addresses differ between recordings, so inputs name places by
// number, and a crasher may need some tries to happen again. Panics count as failures, though
// refscan would turn them into errors.
func FuzzGraph(f *testing.F) {
	s := record(f)
	places := s.Places(f)
	imagetest.Seed(f, len(places))
	f.Fuzz(func(t *testing.T, input []byte) {
		defer s.Mend()
		s.Damage(places, input)
		var o outcome
		if err := s.Bounded(func() { o = s.scan() }); err != nil {
			t.Error(err)
		}
		if o.err == nil && (o.res.Totals.AttributedBytes < 0 || o.res.Totals.TypedBytes > o.res.Totals.AttributedBytes) {
			t.Errorf("impossible totals %+v", o.res.Totals)
		}
	})
}
