package spv

// Patterns of operands, a letter for each: t the type of the result, r the result, i another identifier, l a literal word, s the words of a string.
// A capital letter repeats to the end of the instruction: I, L, and P for pairs of a literal and an identifier. O is the opcode of
// OpSpecConstantOp with the operands that follow it, M a mask of memory operands, where there is one, with what it asks for.
const (
	oneOperand    = "tri"
	twoOperands   = "trii"
	threeOperands = "triii"
)

// grammar lists the instructions that Pack accepts, by opcode ("SPIR-V Specification", version 1.6, section 3.49). Literals of more than a word,
// such as 64-bit labels of OpSwitch, do not occur in kernels.
var grammar = map[uint16]string{
	1: "tr",                                                // OpUndef
	3: "llL", 4: "s", 5: "is", 6: "ils", 7: "rs", 8: "ill", // OpSource, OpSourceExtension, OpName, OpMemberName, OpString, OpLine
	10: "s", 11: "rs", 12: "trilI", // OpExtension, OpExtInstImport, OpExtInst
	14: "ll", 15: "lisI", 16: "ilL", 17: "l", // OpMemoryModel, OpEntryPoint, OpExecutionMode, OpCapability
	19: "r", 20: "r", 21: "rll", 22: "rl", 23: "ril", 24: "ril", // OpTypeVoid, Bool, Int, Float, Vector, Matrix
	25: "rillllllL", 28: "rii", 29: "ri", 30: "rI", 32: "rli", 33: "riI", // OpTypeImage, Array, RuntimeArray, Struct, Pointer, Function
	41: "tr", 42: "tr", 43: "trlL", 44: "trI", 46: "tr", // OpConstantTrue, OpConstantFalse, OpConstant, OpConstantComposite, OpConstantNull
	48: "tr", 49: "tr", 50: "trlL", 51: "trI", 52: "trO", // OpSpecConstantTrue, …False, OpSpecConstant, …Composite, …Op
	54: "trli", 55: "tr", 56: "", 57: "triI", // OpFunction, OpFunctionParameter, OpFunctionEnd, OpFunctionCall
	59: "trlI", 60: "triii", 61: "triM", 62: "iiM", 63: "iiM", // OpVariable, OpImageTexelPointer, OpLoad, OpStore, OpCopyMemory
	65: "triI", 66: "triI", 68: "tril", 71: "ilL", 72: "illL", // OpAccessChain, OpInBoundsAccessChain, OpArrayLength, OpDecorate, OpMemberDecorate
	77: twoOperands, 78: threeOperands, 79: "triiL", // OpVectorExtractDynamic, OpVectorInsertDynamic, OpVectorShuffle
	80: "trI", 81: "triL", 82: "triiL", 83: oneOperand, 84: oneOperand, // OpCompositeConstruct, …Extract, …Insert, OpCopyObject, OpTranspose
	98: "trii", 99: "iii", // OpImageRead and OpImageWrite without image operands
	109: oneOperand, 110: oneOperand, 111: oneOperand, 112: oneOperand, // conversions of numbers
	113: oneOperand, 114: oneOperand, 115: oneOperand, 124: oneOperand, // OpUConvert, OpSConvert, OpFConvert, OpBitcast
	126: oneOperand, 127: oneOperand, // OpSNegate, OpFNegate
	128: twoOperands, 129: twoOperands, 130: twoOperands, 131: twoOperands, 132: twoOperands, 133: twoOperands, // sums, differences, products
	134: twoOperands, 135: twoOperands, 136: twoOperands, 137: twoOperands, 138: twoOperands, 139: twoOperands, // quotients and remainders
	140: twoOperands, 141: twoOperands, 142: twoOperands, 143: twoOperands, 144: twoOperands, 145: twoOperands, // … of matrices and vectors
	146: twoOperands, 147: twoOperands, 148: twoOperands, 149: twoOperands, 150: twoOperands, 151: twoOperands, 152: twoOperands,
	154: oneOperand, 155: oneOperand, 156: oneOperand, 157: oneOperand, 158: oneOperand, // OpAny, OpAll, OpIsNan, OpIsInf, OpIsFinite
	164: twoOperands, 165: twoOperands, 166: twoOperands, 167: twoOperands, 168: oneOperand, 169: threeOperands, // logic, OpSelect
	170: twoOperands, 171: twoOperands, 172: twoOperands, 173: twoOperands, 174: twoOperands, 175: twoOperands, // comparisons
	176: twoOperands, 177: twoOperands, 178: twoOperands, 179: twoOperands, 180: twoOperands, 181: twoOperands,
	182: twoOperands, 183: twoOperands, 184: twoOperands, 185: twoOperands, 186: twoOperands, 187: twoOperands,
	188: twoOperands, 189: twoOperands, 190: twoOperands, 191: twoOperands,
	194: twoOperands, 195: twoOperands, 196: twoOperands, 197: twoOperands, 198: twoOperands, 199: twoOperands, 200: oneOperand, // bits
	201: "triiii", 202: "triii", 203: "triii", 204: oneOperand, 205: oneOperand, // bit fields, OpBitReverse, OpBitCount
	224: "iii", 225: "ii", // OpControlBarrier, OpMemoryBarrier
	227: threeOperands, 228: "iiii", 229: "triiii", 230: "triiiiii", 232: threeOperands, 233: threeOperands, // OpAtomicLoad, …Store, …Exchange …
	234: "triiii", 235: "triiii", 236: "triiii", 237: "triiii", 238: "triiii", 239: "triiii", 240: "triiii", 241: "triiii", 242: "triiii",
	245: "trI", 246: "iilL", 247: "il", 248: "r", 249: "i", 250: "iiiL", 251: "iiP", 252: "", 253: "", 254: "i", 255: "", // control flow
	317: "", 330: "s", 331: "ilI", 332: "ilI", // OpNoLine, OpModuleProcessed, OpExecutionModeId, OpDecorateId
	333: oneOperand, 334: twoOperands, 335: twoOperands, 336: twoOperands, 337: threeOperands, 338: twoOperands, // votes and broadcasts
	339: twoOperands, 340: twoOperands, 341: threeOperands, 342: "trili", 343: twoOperands, 344: twoOperands, // ballots
	345: threeOperands, 346: threeOperands, 347: threeOperands, 348: threeOperands, // shuffles
	349: "triliI", 350: "triliI", 351: "triliI", 352: "triliI", 353: "triliI", 354: "triliI", 355: "triliI", 356: "triliI", 357: "triliI", // reductions
	358: "triliI", 359: "triliI", 360: "triliI", 361: "triliI", 362: "triliI", 363: "triliI", 364: "triliI", 365: threeOperands, 366: threeOperands,
	4456: "riiiii", 4457: "triiiM", 4458: "iiiiM", 4459: "triiiL", // cooperative matrices: OpTypeCooperativeMatrixKHR, …Load, …Store, …MulAdd
}

// Opcodes with a meaning to the packing.
const (
	opConstant       = 43
	opSpecConstant   = 50
	opFunction       = 54
	opDecorate       = 71
	opMemberDecorate = 72
)
