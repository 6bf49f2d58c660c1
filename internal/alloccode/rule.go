package alloccode

import "strings"

// A rule says what a function of the runtime allocates: memory of the type that one of its
// arguments points to, or always of the same type.
type rule struct {
	argument int
	prefix   string // before the type's name
	always   string // name of the type; "" if it depends on the argument
	untold   bool   // of types without pointers, the runtime is not given the type
}

// ruleOf returns the rule of a function (go1.26, go1.27: runtime/malloc.go, slice.go, chan.go,
// string.go, iface.go, map.go, rawbyteslice).
func ruleOf(name string) (rule, bool) {
	short, ok := strings.CutPrefix(name, "runtime.")
	if !ok {
		return rule{}, false
	}
	switch {
	case strings.HasPrefix(short, "mallocgc"):
		return rule{argument: 1}, true
	case strings.HasPrefix(short, "mapassign"):
		return rule{argument: 0}, true
	case strings.HasPrefix(short, "concatstring"):
		return rule{always: "string", untold: true}, true
	case strings.HasPrefix(short, "concatbyte"):
		return rule{always: "[]uint8", untold: true}, true
	}
	_, letter, ok := strings.Cut(rules, " "+short+"=")
	if !ok {
		return rule{}, false
	}
	switch letter[0] {
	case 'a':
		return rule{argument: 0, prefix: "[]"}, true
	case 'c':
		return rule{argument: 0, prefix: "[]", untold: true}, true
	case 'g':
		return rule{argument: 4, prefix: "[]", untold: true}, true
	case 's':
		return rule{always: "string", untold: true}, true
	case 'b':
		return rule{always: "[]uint8", untold: true}, true
	case 'r':
		return rule{always: "[]int32", untold: true}, true
	case 'h':
		return rule{always: "(headers of maps)"}, true
	case 'p':
		return rule{always: "(arrays without pointers)", untold: true}, true
	}
	return rule{argument: 0}, true
}

// rules lists what functions of the runtime allocate: 'o' an object of the type in the first
// argument, 'a' an array of that type, 'c' a copy of an array, 'g' an array of the type in the
// fifth argument, 's' a string, 'b' bytes, 'r' runes, 'h' headers of maps, 'p' an array without
// pointers, whose type is not passed.
const rules = " newobject=o convT=o convTnoptr=o makechan=o makechan64=o makemap=o makemap64=o" +
	" newarray=a makeslice=a makeslice64=a makeslicecopy=c moveSlice=a moveSliceNoCap=a" +
	" growslice=g growsliceNoAlias=g growsliceBuf=g growsliceBufNoAlias=g" +
	" slicebytetostring=s slicerunetostring=s intstring=s rawstring=s rawstringtmp=s gostring=s" +
	" stringtoslicebyte=b rawbyteslice=b gobytes=b stringtoslicerune=r rawruneslice=r" +
	" makemap_small=h moveSliceNoScan=p moveSliceNoCapNoScan=p"

// boxOf returns the kind of the values that a function puts into interfaces, "" if it does not.
// Such a function is not given the type; its caller puts the type beside the pointer that it
// returns.
func boxOf(name string) string {
	const boxes = " runtime.convT16=uint16 runtime.convT32=uint32 runtime.convT64=uint64 runtime.convTstring=string runtime.convTslice=slice "
	if !strings.HasPrefix(name, "runtime.convT") {
		return ""
	}
	_, kind, _ := strings.Cut(boxes, " "+name+"=")
	kind, _, _ = strings.Cut(kind, " ")
	return kind
}
