package allocrun

import "github.com/leakgate/leakgate/internal/alloctrace"

// For a new thread the runtime allocates its record, an mPadded, and two slices of uintptr for
// stacks in profiles (go1.26, go1.27 runtime/proc.go, allocm and mProfStackInit).
// GODEBUG=profstackdepth could change the length of these slices.
const (
	threadRecord    = "runtime.mPadded"
	stacksOfThread  = 2
	wordsOfStack    = 1 + 6 + 128 // makeProfStackFP: the sentinel, maxSkip, and profstackdepth
	elementsOfStack = "uintptr"
)

// withThreadsApart counts the profile stacks of new threads as records of the runtime, like the
// threads themselves. The runtime decides when to start a thread, depending on how busy the machine
// is.
func withThreadsApart(counts []*alloctrace.Count, classes []int64) []*alloctrace.Count {
	var record *alloctrace.Count
	var stacks int64
	for _, c := range counts {
		if c.Name == threadRecord {
			record = c
			stacks += stacksOfThread * c.Objects
		}
	}
	apart := make([]*alloctrace.Count, 0, len(counts)+1)
	for _, c := range counts {
		if c.Name != elementsOfStack || c.Unsized || c.Size != alloctrace.SizeOf(wordsOfStack*c.TypeSize, classes) || stacks == 0 {
			apart = append(apart, c)
			continue
		}
		of, rest := *c, *c
		of.Objects = min(stacks, c.Objects)
		of.Type, of.Name = record.Type, record.Name
		rest.Objects -= of.Objects
		stacks -= of.Objects
		apart = append(apart, &of)
		if rest.Objects > 0 {
			apart = append(apart, &rest)
		}
	}
	return apart
}
