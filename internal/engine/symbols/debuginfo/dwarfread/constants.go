package dwarfread

// The constants of DWARF that this package reads (versions 4 and 5; sections 7.5.4 to 7.5.6 of
// DWARF 5).

type dwarfTag uint64

const (
	tagArrayType         dwarfTag = 0x01
	tagFormalParameter   dwarfTag = 0x05
	tagLexicalBlock      dwarfTag = 0x0b
	tagMember            dwarfTag = 0x0d
	tagPointerType       dwarfTag = 0x0f
	tagCompileUnit       dwarfTag = 0x11
	tagStructType        dwarfTag = 0x13
	tagSubroutineType    dwarfTag = 0x15
	tagTypedef           dwarfTag = 0x16
	tagInlinedSubroutine dwarfTag = 0x1d
	tagSubrangeType      dwarfTag = 0x21
	tagBaseType          dwarfTag = 0x24
	tagSubprogram        dwarfTag = 0x2e
	tagVariable          dwarfTag = 0x34
)

type dwarfAttr uint64

const (
	attrLocation       dwarfAttr = 0x02
	attrName           dwarfAttr = 0x03
	attrByteSize       dwarfAttr = 0x0b
	attrStmtList       dwarfAttr = 0x10
	attrLowPC          dwarfAttr = 0x11
	attrHighPC         dwarfAttr = 0x12
	attrLanguage       dwarfAttr = 0x13
	attrCompDir        dwarfAttr = 0x1b
	attrInline         dwarfAttr = 0x20
	attrAbstractOrigin dwarfAttr = 0x31
	attrCount          dwarfAttr = 0x37
	attrDataMemberLoc  dwarfAttr = 0x38
	attrDeclFile       dwarfAttr = 0x3a
	attrDeclLine       dwarfAttr = 0x3b
	attrEncoding       dwarfAttr = 0x3e
	attrFrameBase      dwarfAttr = 0x40
	attrType           dwarfAttr = 0x49
	attrRanges         dwarfAttr = 0x55
	attrTrampoline     dwarfAttr = 0x56
	attrCallFile       dwarfAttr = 0x58
	attrAddrBase       dwarfAttr = 0x73

	// Attributes that Go adds (go1.26 cmd/internal/dwarf/dwarf.go; the same in 1.27).
	attrGoKind          dwarfAttr = 0x2900
	attrGoKey           dwarfAttr = 0x2901
	attrGoElem          dwarfAttr = 0x2902
	attrGoEmbeddedField dwarfAttr = 0x2903
	attrGoRuntimeType   dwarfAttr = 0x2904
	attrGoPackageName   dwarfAttr = 0x2905
	attrGoDictIndex     dwarfAttr = 0x2906
	attrGoClosureOffset dwarfAttr = 0x2907
)

const languageGo = 0x16

const (
	formAddr          = 0x01
	formBlock2        = 0x03
	formBlock4        = 0x04
	formData2         = 0x05
	formData4         = 0x06
	formData8         = 0x07
	formString        = 0x08
	formBlock         = 0x09
	formBlock1        = 0x0a
	formData1         = 0x0b
	formFlag          = 0x0c
	formSdata         = 0x0d
	formStrp          = 0x0e
	formUdata         = 0x0f
	formRefAddr       = 0x10
	formRef1          = 0x11
	formRef2          = 0x12
	formRef4          = 0x13
	formRef8          = 0x14
	formRefUdata      = 0x15
	formIndirect      = 0x16
	formSecOffset     = 0x17
	formExprloc       = 0x18
	formFlagPresent   = 0x19
	formStrx          = 0x1a
	formAddrx         = 0x1b
	formRefSup4       = 0x1c
	formStrpSup       = 0x1d
	formData16        = 0x1e
	formLineStrp      = 0x1f
	formRefSig8       = 0x20
	formImplicitConst = 0x21
	formLoclistx      = 0x22
	formRnglistx      = 0x23
	formRefSup8       = 0x24
	formStrx1         = 0x25
	formStrx2         = 0x26
	formStrx3         = 0x27
	formStrx4         = 0x28
	formAddrx1        = 0x29
	formAddrx2        = 0x2a
	formAddrx3        = 0x2b
	formAddrx4        = 0x2c
	formGNURefAlt     = 0x1f20
	formGNUStrpAlt    = 0x1f21
)
