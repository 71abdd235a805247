package flush

// How a line is published (argument of putLine and putLines).
const (
	publishWords   = iota // eight 8-byte stores in program order
	publishVector         // 16-byte stores of the payload, then the 8-byte word
	publishOrdered        // as publishWords with a store fence before the word, for write-combining memory
	publishStream         // one 64-byte streaming store
	publishDirect         // one MOVDIR64B
)

// How a line is looked at (argument of getLine and getLines).
const (
	lookWords  = iota // 8-byte loads
	lookVector        // 8-byte load of the word, 16-byte loads of the payload
	lookFenced        // as lookWords with a load fence after the word, for write-combining memory
)

// What is done to a cached line (argument of cacheLines and invalidateLines).
const (
	cacheNone      = iota // nothing: the memory is coherent or uncached
	cacheFlush            // CLFLUSH; arm64 DC CIVAC
	cacheFlushOpt         // CLFLUSHOPT
	cacheWriteBack        // CLWB; arm64 DC CVAC
)

// How whole lines are streamed (argument of streamLines).
const (
	streamNone   = iota // not at all: ordinary copy
	streamWords         // MOVNTI
	streamSSE           // 16-byte MOVNTDQ
	streamAVX           // 32-byte VMOVNTDQ
	streamAVX512        // 64-byte VMOVNTDQ
)

// plan is what a View does for each primitive; chosen once, by mode and CPU.
type plan struct {
	publish    uintptr
	look       uintptr
	writeBack  uintptr
	invalidate uintptr
	stream     uintptr

	linesNeedWriteBack bool // published lines are in the cache and must be written back
	wordCopy           bool // copies use general registers only
	storeFence         bool // Fence is an instruction
	loadFence          bool // acquire needs an instruction
}

// planFor chooses by mode, from what the CPU offers.
func planFor(mode Mode, o Options) plan {
	noVector := o.NoVector
	p := plan{publish: publishVector, look: lookVector, wordCopy: noVector}
	if noVector {
		p.publish, p.look = publishWords, lookWords
	}
	switch mode {
	case Flush:
		if !o.CachedLines {
			p.publish = bestPublish(noVector)
		}
		p.linesNeedWriteBack = p.publish < publishStream
		p.writeBack, p.invalidate = bestCacheOps()
		p.stream = bestStream(noVector)
		p.storeFence = true
	case Uncached:
		p.publish, p.look = publishOrdered, lookFenced
		if bestPublish(noVector) == publishDirect {
			p.publish = publishDirect // whole and ordered, whatever the memory type
		}
		p.stream = bestStream(noVector)
		p.storeFence, p.loadFence = true, true
	}
	return p
}
