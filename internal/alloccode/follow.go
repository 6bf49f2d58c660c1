package alloccode

import "slices"

// A value is what a place holds: a constant, or what an argument register held when the function
// was entered. With offsets, it is the word in memory that these lead to: each offset is added to
// an address, at which the next address is read; the first is added to the constant or argument.
type value struct {
	kind     valueKind
	constant uint64
	argument place
	offsets  []int64
}

type valueKind uint8

const (
	noValue valueKind = iota // the path is a loop, and adds nothing
	unknownValue
	constantValue
	argumentValue
)

func (v value) equal(w value) bool {
	return v.kind == w.kind && v.constant == w.constant && v.argument == w.argument && slices.Equal(v.offsets, w.offsets)
}

// A visit is a place that was followed from an instruction.
type visit struct {
	index, behind int // the instruction, and the number of offsets
	at            place
}

// A follower finds the value of a place in a function, backwards from an instruction.
type follower struct {
	program *Program
	*function
	visited map[visit]bool
}

// maxDepth bounds the depth of joined paths.
const maxDepth = 60

// before returns what p holds just before instruction i. offsets lead from there to the word in
// memory that is wanted.
func (f *follower) before(i int, p place, offsets []int64, depth int) value {
	if depth > maxDepth {
		return value{kind: unknownValue}
	}
	here := visit{i, len(offsets), p}
	if f.visited[here] {
		return value{}
	}
	f.visited[here] = true
	for i > 0 {
		jumps := f.jumpsTo[f.code[i].at]
		previous := &f.code[i-1]
		falls := previous.op != opJump && previous.op != opEnd && !(previous.op == opCall && f.program.neverReturns(previous.target))
		if len(jumps) > 0 {
			return f.joined(i, p, offsets, depth, jumps, falls)
		}
		if !falls {
			return f.nothingBefore()
		}
		v, next, rest := f.stepBack(i-1, p, offsets)
		if v.kind != noValue {
			return v
		}
		i, p, offsets = i-1, next, rest
	}
	if p >= slotBit {
		return value{kind: unknownValue} // an argument on the stack
	}
	return value{kind: argumentValue, argument: p, offsets: offsets}
}

// nothingBefore is the value where no known path leads: none, unless the function has a computed
// jump, which may lead there.
func (f *follower) nothingBefore() value {
	if f.computed {
		return value{kind: unknownValue}
	}
	return value{}
}

// joined is the value where several paths meet: their common value, or unknown if they differ.
func (f *follower) joined(i int, p place, offsets []int64, depth int, jumps []int, falls bool) value {
	var all value
	add := func(v value) {
		switch {
		case v.kind == noValue || all.kind == unknownValue:
		case all.kind == noValue:
			all = v
		case !all.equal(v):
			all = value{kind: unknownValue}
		}
	}
	for _, j := range jumps {
		add(f.before(j, p, offsets, depth+1)) // jumps write nothing
	}
	if falls {
		v, next, rest := f.stepBack(i-1, p, offsets)
		if v.kind == noValue {
			v = f.before(i-1, next, rest, depth+1)
		}
		add(v)
	}
	return all
}

// stepBack follows p backwards over instruction i. It returns the value of p, or noValue with the
// place and the offsets to follow from there.
func (f *follower) stepBack(i int, p place, offsets []int64) (v value, from place, rest []int64) {
	x := &f.code[i]
	switch x.op {
	case opConst:
		if x.to == p {
			return value{kind: constantValue, constant: x.constant, offsets: offsets}, 0, nil
		}
		return value{}, p, offsets
	case opStatic:
		if x.to == p {
			return value{kind: constantValue, constant: x.constant, offsets: append([]int64{0}, offsets...)}, 0, nil
		}
		return value{}, p, offsets
	case opMove:
		if x.to == p {
			return value{}, x.from, offsets
		}
		return value{}, p, offsets
	case opLoad:
		if x.to == p {
			return value{}, x.from, append([]int64{x.offset}, offsets...)
		}
		return value{}, p, offsets
	case opCall:
		if p >= slotBit || f.program.preserves(x.target) {
			return value{}, p, offsets
		}
		return value{kind: unknownValue}, 0, nil
	}
	if slices.Contains(x.written, p) {
		return value{kind: unknownValue}, 0, nil
	}
	if offset := int64(p - slotBit); p >= slotBit && x.slotsFrom < x.slotsTo && offset < x.slotsTo && offset+8 > x.slotsFrom {
		return value{kind: unknownValue}, 0, nil
	}
	return value{}, p, offsets
}
