/* Functions of the smaller libraries whose name is all that is known of them here; see FINE, MAKE and REFUSE in
 * imitation.h. FINE have nothing to do on a device that does nothing: they set, destroy, wait,
 * or compute. Above all those that give back a size are refused. */
#include "imitation.h"

/* What is made and destroyed. */
#define OBJECT(library, name) MAKE(library##Create##name) FINE(library##Destroy##name)

/* cuDNN. */

enum { dnn_not_supported = 3000 };

#define LACKS(name) REFUSE(name, dnn_not_supported)

/* A convolution, and what chooses how it is done. */
#define CONVOLUTION(way) \
	FINE(cudnnConvolution##way) \
	LACKS(cudnnFindConvolution##way##AlgorithmEx) \
	LACKS(cudnnGetConvolution##way##Algorithm_v7) \
	LACKS(cudnnGetConvolution##way##WorkspaceSize)

FINE(cudnnBatchNormalizationBackwardEx)
FINE(cudnnBatchNormalizationForwardInference)
FINE(cudnnBatchNormalizationForwardTrainingEx)
FINE(cudnnConvolutionBiasActivationForward)
FINE(cudnnCTCLoss)
FINE(cudnnCTCLoss_v8)
OBJECT(cudnn, ActivationDescriptor)
OBJECT(cudnn, ConvolutionDescriptor)
OBJECT(cudnn, CTCLossDescriptor)
OBJECT(cudnn, DropoutDescriptor)
OBJECT(cudnn, FilterDescriptor)
OBJECT(cudnn, SpatialTransformerDescriptor)
FINE(cudnnPoolingForward)
FINE(cudnnRestoreDropoutDescriptor)
FINE(cudnnRNNBackwardData_v8)
FINE(cudnnRNNBackwardWeights_v8)
FINE(cudnnRNNForward)
FINE(cudnnSetActivationDescriptor)
FINE(cudnnSetConvolutionGroupCount)
FINE(cudnnSetConvolutionMathType)
FINE(cudnnSetConvolutionNdDescriptor)
FINE(cudnnSetCTCLossDescriptor_v9)
FINE(cudnnSetCTCLossDescriptorEx)
FINE(cudnnSetDropoutDescriptor)
FINE(cudnnSetFilterNdDescriptor)
FINE(cudnnSetPooling2dDescriptor)
FINE(cudnnSetSpatialTransformerNdDescriptor)
FINE(cudnnSetStream)
FINE(cudnnSpatialTfGridGeneratorBackward)
FINE(cudnnSpatialTfGridGeneratorForward)
FINE(cudnnSpatialTfSamplerBackward)
FINE(cudnnSpatialTfSamplerForward)
MAKE(cudnnCreatePoolingDescriptor)
CONVOLUTION(BackwardData)
CONVOLUTION(BackwardFilter)
CONVOLUTION(Forward)
LACKS(cudnnGetCTCLossWorkspaceSize)
LACKS(cudnnGetCTCLossWorkspaceSize_v8)
LACKS(cudnnGetFilterNdDescriptor)
LACKS(cudnnGetRNNLinLayerBiasParams)
LACKS(cudnnGetRNNLinLayerMatrixParams)
LACKS(cudnnGetRNNParamsSize)
LACKS(cudnnGetRNNTrainingReserveSize)
LACKS(cudnnGetRNNWorkspaceSize)
LACKS(cudnnRNNBackwardData)
LACKS(cudnnRNNBackwardWeights)
LACKS(cudnnRNNForwardInference)
LACKS(cudnnRNNForwardTraining)
LACKS(cudnnSetRNNDescriptor_v6)
LACKS(cudnnSetRNNMatrixMathType)
LACKS(cudnnSetRNNProjectionLayers)

/* NCCL. */

enum { nccl_not_supported = 5 };

#undef LACKS
#define LACKS(name) REFUSE(name, nccl_not_supported)

FINE(ncclDevCommDestroy)
LACKS(ncclCommGrow)
LACKS(ncclCommMemStats)
LACKS(ncclCommResume)
LACKS(ncclCommRevoke)
LACKS(ncclCommShrink)
LACKS(ncclCommSuspend)
LACKS(ncclDevCommCreate)
LACKS(ncclGather)
LACKS(ncclGetLsaMultimemDevicePointer)
LACKS(ncclGetPeerDevicePointer)
LACKS(ncclPutSignal)
LACKS(ncclSignal)
LACKS(ncclWaitSignal)
LACKS(ncclWinGetUserPtr)

/* cuSPARSE and cuSPARSELt. */

enum { sparse_not_supported = 10 };

#undef LACKS
#define LACKS(name) REFUSE(name, sparse_not_supported)
#define DESCRIBED(name) MAKE(cusparse##name##_createDescr) FINE(cusparse##name##_destroyDescr)
#define SOLVE(name) \
	FOR_ALL(FINE, cusparse, name##_analysis) \
	FOR_ALL(FINE, cusparse, name##_solve) \
	FOR_ALL(LACKS, cusparse, name##_bufferSize) \
	LACKS(cusparseX##name##_zeroPivot)

FOR_ALL(FINE, cusparse, bsrmm)
FOR_ALL(FINE, cusparse, bsrmv)
SOLVE(bsrsm2)
SOLVE(bsrsv2)
FOR_ALL(FINE, cusparse, csrgeam2)
FINE(cusparseCreateIdentityPermutation)
FINE(cusparseCsrSetPointers)
FINE(cusparseCsrSetStridedBatch)
FINE(cusparseDestroy)
OBJECT(cusparse, Bsrsm2Info)
OBJECT(cusparse, Bsrsv2Info)
OBJECT(cusparse, DnMat)
OBJECT(cusparse, DnVec)
OBJECT(cusparse, MatDescr)
FINE(cusparseDnMatSetStridedBatch)
FINE(cusparseLtDenseDescriptorInit)
FINE(cusparseLtInit)
FINE(cusparseLtMatDescriptorDestroy)
FINE(cusparseLtMatmul)
FINE(cusparseLtMatmulAlgSelectionInit)
FINE(cusparseLtMatmulAlgSetAttribute)
FINE(cusparseLtMatmulDescriptorInit)
FINE(cusparseLtMatmulDescSetAttribute)
FINE(cusparseLtMatmulPlanDestroy)
FINE(cusparseLtMatmulPlanInit)
FINE(cusparseLtMatmulSearch)
FINE(cusparseLtSpMMACompress2)
FINE(cusparseLtStructuredDescriptorInit)
FINE(cusparseSDDMM)
FINE(cusparseSDDMM_preprocess)
FINE(cusparseSetMatDiagType)
FINE(cusparseSetMatFillMode)
FINE(cusparseSetMatIndexBase)
FINE(cusparseSetMatType)
FINE(cusparseSetPointerMode)
FINE(cusparseSetStream)
FINE(cusparseSpGEMM_copy)
DESCRIBED(SpGEMM)
FINE(cusparseSpMatSetAttribute)
FINE(cusparseSpMM)
FINE(cusparseSpMV)
FINE(cusparseSpSM_analysis)
DESCRIBED(SpSM)
FINE(cusparseSpSM_solve)
FINE(cusparseSpSV_analysis)
DESCRIBED(SpSV)
FINE(cusparseSpSV_solve)
FINE(cusparseXcoo2csr)
FINE(cusparseXcoosortByRow)
FINE(cusparseXcsrsort)
MAKE(cusparseCreate)
FOR_ALL(LACKS, cusparse, csrgeam2_bufferSizeExt)
LACKS(cusparseLtMatmulAlgGetAttribute)
LACKS(cusparseLtMatmulGetWorkspace)
LACKS(cusparseLtSpMMACompressedSize2)
LACKS(cusparseSpGEMM_compute)
LACKS(cusparseSpGEMM_workEstimation)
LACKS(cusparseSpMatGetSize)
LACKS(cusparseXcsrgeam2Nnz)

/* cuSOLVER. */

enum { solver_not_supported = 9 };

FOR_ALL(FINE, cusolverDn, geqrf)
FOR_ALL(FINE, cusolverDn, gesvd)
FOR_ALL(FINE, cusolverDn, gesvdaStridedBatched)
FOR_ALL(FINE, cusolverDn, gesvdj)
FOR_ALL(FINE, cusolverDn, gesvdjBatched)
FOR_ALL(FINE, cusolverDn, getrf)
FOR_ALL(FINE, cusolverDn, getrs)
FOR_COMPLEX(FINE, cusolverDn, heevd)
FOR_COMPLEX(FINE, cusolverDn, heevjBatched)
FOR_REAL(FINE, cusolverDn, orgqr)
FOR_REAL(FINE, cusolverDn, ormqr)
FOR_ALL(FINE, cusolverDn, potrf)
FOR_ALL(FINE, cusolverDn, potrfBatched)
FOR_ALL(FINE, cusolverDn, potrs)
FOR_ALL(FINE, cusolverDn, potrsBatched)
FOR_REAL(FINE, cusolverDn, syevd)
FOR_REAL(FINE, cusolverDn, syevjBatched)
FOR_ALL(FINE, cusolverDn, sytrf)
FOR_COMPLEX(FINE, cusolverDn, ungqr)
FOR_COMPLEX(FINE, cusolverDn, unmqr)
FINE(cusolverDnDestroy)
FINE(cusolverDnDestroyGesvdjInfo)
FINE(cusolverDnDestroyParams)
FINE(cusolverDnSetStream)
FINE(cusolverDnXgeev)
FINE(cusolverDnXgeqrf)
FINE(cusolverDnXgesvdjSetMaxSweeps)
FINE(cusolverDnXgesvdjSetSortEig)
FINE(cusolverDnXgesvdjSetTolerance)
FINE(cusolverDnXpotrf)
FINE(cusolverDnXpotrs)
FINE(cusolverDnXsyevBatched)
FINE(cusolverDnXsyevd)
FINE(cusolverDnXsytrs)

/* cuFFT. */

enum { fft_not_supported = 16 };

FINE(cufftDestroy)
FINE(cufftSetAutoAllocation)
FINE(cufftSetStream)
FINE(cufftSetWorkArea)
FINE(cufftXtExec)
