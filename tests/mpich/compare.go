package main

// Class says how a run over the library compares with the native one.
type Class string

const (
	same      Class = "same"      // as natively
	fixed     Class = "fixed"     // fails natively, passes over the library
	different Class = "different" // passes natively, fails over the library
	accepted  Class = "excluded"  // it would be different, but known.txt has a reason
	stale     Class = "stale"     // known.txt has a reason, but it passes
	notRun    Class = "skipped"
)

// classify compares a run over the library with the native one (nil if there is
// none: then the test counts as one that passes natively, unless known.txt says
// otherwise). The note is known.txt's reason, if that mattered.
func classify(k known, t Test, mode string, native *Outcome, ours Outcome) (c Class, note string) {
	reason, isExcluded := k.exclusion(t, mode)
	_, nativeReason := k.nativeReason(t)
	nativeFails := native != nil && native.Verdict == failed || native == nil && nativeReason != ""
	switch {
	case ours.Verdict == skipped:
		return notRun, ""
	case ours.Verdict == passed && isExcluded:
		return stale, reason
	case ours.Verdict == passed && nativeFails:
		return fixed, nativeReason
	case ours.Verdict == passed:
		return same, ""
	case nativeFails:
		return same, nativeReason
	case isExcluded:
		return accepted, reason
	default:
		return different, ""
	}
}

// classifyNative compares a native run with what known.txt says.
func classifyNative(k known, t Test, native Outcome) (c Class, note string) {
	kind, reason := k.nativeReason(t)
	switch {
	case native.Verdict == skipped:
		return notRun, ""
	case native.Verdict == passed && kind == failsNatively:
		return stale, reason
	default:
		return same, reason
	}
}
