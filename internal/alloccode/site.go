package alloccode

import (
	"strings"

	"github.com/leakgate/leakgate/internal/alloctrace"
)

// maxFrames is the number of calls up the stack through which a type is followed.
const maxFrames = 24

// Allocated describes the objects that a call allocates.
type Allocated struct {
	// Name is the name of the type, as the trace of allocations has it: with shapes for the type
	// arguments of generic functions, and with "[]" before it for the array of a slice. Where only
	// the kind of a value in an interface is known, Name says that.
	Name string
	// Descriptor is the address of the type's descriptor; Array says that objects are arrays of
	// that type. Descriptor is 0 where the allocating function alone determines the type: strings,
	// bytes, headers of maps.
	Descriptor uint64
	Array      bool
	level      int // index on the stack of the call where the descriptor is loaded
	// Untold says that the runtime is not given the type: in the trace the object has no type.
	Untold bool
	// Boxed is the kind of a value, such as "uint64", that is put into an interface by a function
	// which is not given the value's type.
	Boxed string
}

// At returns what a stack allocates; false if that is not known. The stack has an address within
// each call, innermost first, as in profiles: without the runtime's functions at its inner end.
// size is the size of one object in bytes, and the type has to agree with it; classes are the
// heap's size classes.
func (p *Program) At(stack []uint64, size int64, classes []int64) (a Allocated, ok bool) {
	if len(stack) == 0 {
		return a, false
	}
	f := p.functionAt(stack[0])
	if f == nil {
		return a, false
	}
	call, ok := f.callsAt[stack[0]]
	if !ok {
		return a, false
	}
	target := f.code[call].target
	called := p.nameAt(target)
	if kind := boxOf(called); kind != "" {
		return p.boxed(f, call, kind), true
	}
	r, ok := ruleOf(called)
	switch {
	case target == 0 || !ok:
		return a, false
	case r.always != "":
		return Allocated{Name: r.always, Untold: r.untold}, true
	case f.name == "internal/bytealg.MakeNoZero":
		return Allocated{Name: "[]uint8", Untold: true}, true
	}
	descriptor, level, ok := p.argument(stack, p.machine.arguments[r.argument])
	if !ok {
		return a, false
	}
	t, ok := p.types.at(descriptor)
	if !ok {
		return a, false
	}
	if strings.HasPrefix(called, "runtime.mallocgc") && size > alloctrace.SizeOf(t.size+header, classes) {
		r.prefix = "[]" // reflect and others allocate arrays by mallocgc
	}
	if !t.fits(r, size, classes) {
		return a, false
	}
	return Allocated{
		Name: r.prefix + p.types.Name(descriptor), Descriptor: descriptor, Array: r.prefix != "", level: level,
		Untold: r.untold && !t.pointer || t.kind == kindChan && !p.types.sendsPointers(descriptor),
	}, true
}

// argument follows a register from the innermost call of a stack to the constant that it comes
// from. It returns the constant, and the index on the stack of the call where it is loaded.
func (p *Program) argument(stack []uint64, wanted place) (constant uint64, level int, ok bool) {
	var offsets []int64
	var callee *function
	for level, at := range stack {
		f := p.functionAt(at)
		if level == maxFrames || f == nil {
			return 0, 0, false
		}
		call, ok := f.callsAt[at]
		if !ok {
			return 0, 0, false
		}
		// The profile may leave out functions; an indirect call may call any function.
		if target := f.code[call].target; callee != nil && target != callee.entry {
			return 0, 0, false
		}
		v := (&follower{p, f, make(map[visit]bool)}).before(call, wanted, offsets, 0)
		switch {
		case v.kind == constantValue:
			constant, ok := p.loadThroughOffsets(v)
			return constant, level, ok
		case v.kind != argumentValue || v.argument == f.contexts:
			return 0, 0, false
		}
		wanted, offsets, callee = v.argument, v.offsets, f
	}
	return 0, 0, false
}

// loadThroughOffsets reads the word to which the offsets of a constant value lead, in data that
// does not change.
func (p *Program) loadThroughOffsets(v value) (uint64, bool) {
	at := v.constant
	for _, offset := range v.offsets {
		next, ok := p.source.Word(at + uint64(offset))
		if !ok {
			return 0, false
		}
		at = next
	}
	return at, true
}

// boxed returns the type of a value of some kind that a call puts into an interface: the first type
// descriptor that is loaded after the call. The type is not known if the code branches before.
func (p *Program) boxed(f *function, call int, kind string) Allocated {
	untold := Allocated{Name: "(values of kind " + kind + " in interfaces)", Boxed: kind}
	for i := call + 1; i < len(f.code) && i <= call+maxApart; i++ {
		x := &f.code[i]
		if x.op == opCall || x.op == opJump || x.op == opBranch || x.op == opEnd || len(f.jumpsTo[x.at]) > 0 {
			return untold
		}
		if x.op != opConst {
			continue
		}
		if t, ok := p.types.at(x.constant); ok {
			if !t.basic() {
				return untold
			}
			return Allocated{Name: p.types.Name(x.constant), Descriptor: x.constant, Boxed: kind}
		}
	}
	return untold
}

// maxApart is how many instructions after the call the type of a boxed value is looked for.
const maxApart = 4

// shape is the prefix of the names of shape types. A generic function has the same code for all
// type arguments of one shape.
const shape = "go.shape."

// Instantiated returns the name of the type that a stack allocates, with shapes replaced by type
// arguments. These are in the name of the dictionary that the generic function was given; where
// that is not known, the shapes stay. dictionaryAt returns the name of the dictionary's symbol at
// an address, "" if there is none.
func (p *Program) Instantiated(a Allocated, stack []uint64, dictionaryAt func(uint64) string) string {
	name, level := a.Name, a.level
	if !strings.Contains(name, shape) {
		return name
	}
	shapes := typeArguments(p.nameAt(stack[level]))
	if len(shapes) == 0 || level+1 >= len(stack) {
		return name
	}
	// The dictionary is the first argument, after the receiver if there is one.
	for _, register := range p.machine.arguments[:2] {
		constant, _, ok := p.argument(stack[level+1:], register)
		if !ok {
			continue
		}
		if arguments := typeArguments(dictionaryAt(constant)); len(arguments) == len(shapes) {
			return substitute(name, shapes, arguments)
		}
	}
	return name
}

// typeArguments splits the type arguments in a function's or dictionary's name:
// "[int,go.shape.string]".
func typeArguments(name string) (list []string) {
	start := strings.IndexByte(name, '[')
	if start < 0 {
		return nil
	}
	depth, from := 0, start+1
	for i := start; i < len(name); i++ {
		switch name[i] {
		case '[', '(', '{':
			depth++
		case ']', ')', '}':
			depth--
			if depth == 0 {
				return append(list, name[from:i])
			}
		case ',':
			if depth == 1 {
				list = append(list, name[from:i])
				from = i + 1
			}
		}
	}
	return nil
}

// substitute replaces shapes by type arguments. A shape that stands for two different type
// arguments stays.
func substitute(name string, shapes, arguments []string) string {
	of := make(map[string]string)
	for i, s := range shapes {
		if known, ok := of[s]; ok && known != arguments[i] {
			arguments[i] = s
		}
		of[s] = arguments[i]
	}
	for _, s := range shapes {
		if strings.HasPrefix(s, shape) {
			name = replaceWhole(name, s, of[s])
		}
	}
	return name
}

// replaceWhole replaces a type's name where it stands as a whole, not as the prefix of another
// name.
func replaceWhole(text, old, with string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, old)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		end := i + len(old)
		b.WriteString(text[:i])
		if end == len(text) || strings.ContainsRune("],) }", rune(text[end])) {
			b.WriteString(with)
		} else {
			b.WriteString(old)
		}
		text = text[end:]
	}
}
