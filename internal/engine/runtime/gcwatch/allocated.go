package gcwatch

import "errors"

// A Moment has what the memory profiler had recorded of all allocations at a moment.
type Moment struct {
	// Rate is runtime.MemProfileRate: an object of a size is recorded with probability
	// 1-exp(-size/rate).
	Rate    int64
	objects map[uint64]int64 // by bucket: a bucket is never moved or freed
}

// A Sampled is what one stack has allocated of objects of one size, as far as it was recorded.
type Sampled struct {
	Stack   []uint64 // return addresses, the innermost first
	Size    int64    // of an object, in bytes
	Objects int64
}

// ErrRate says that runtime.MemProfileRate was changed between two moments.
var ErrRate = errors.New("the program has changed runtime.MemProfileRate meanwhile")

// Moment reads how many objects each stack has had recorded since the program began. It makes some
// nine reads a record. Errors are those of the memory, or say that the profiler is off.
func (r *Records) Moment(m Memory) (*Moment, error) {
	w := words{m: m}
	now := &Moment{Rate: int64(w.word(r.at.Rate, 8)), objects: make(map[uint64]int64)}
	if now.Rate <= 0 && w.err == nil {
		return nil, errOff
	}
	r.each(&w, func(b bucket) {
		if n := r.allocated(&w, b); n > 0 {
			now.objects[b.at] = n
		}
	})
	return now, w.err
}

// Since returns what was recorded since an earlier moment.
func (r *Records) Since(m Memory, earlier *Moment) (all []Sampled, err error) {
	w := words{m: m}
	if int64(w.word(r.at.Rate, 8)) != earlier.Rate && w.err == nil {
		return nil, ErrRate
	}
	r.each(&w, func(b bucket) {
		if n := r.allocated(&w, b) - earlier.objects[b.at]; n > 0 {
			stack, size := r.stack(&w, b)
			all = append(all, Sampled{stack, size, n})
		}
	})
	return all, w.err
}

// allocated is how many objects of a bucket were recorded: those that are published, and those of
// phases that are not. While a phase is published, its objects move from there to here, so the
// published ones must be the same before and after.
func (r *Records) allocated(w *words, b bucket) int64 {
	for published := w.word(b.record+r.at.Allocated, 8); ; {
		sum := published
		for phase := range uint64(phases) {
			sum += w.word(b.record+r.at.Future+phase*r.at.Phase+r.at.Allocated, 8)
		}
		now := w.word(b.record+r.at.Allocated, 8)
		if now == published || w.err != nil {
			return int64(sum)
		}
		published = now
	}
}
